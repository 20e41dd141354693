"""What lasts: the ledger, the vault of plan files, locks, and the home folder."""
