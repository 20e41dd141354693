"""Pure rules: what the ledger says about a plan, and what may happen next."""
