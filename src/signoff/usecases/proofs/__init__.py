"""What a sign-off rests on: read from the ledger, and judged again."""
