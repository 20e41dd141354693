"""Lasting things: the ledger, the vault of plan files, locks, receipts, and the home folder."""
