"""Wrong versions of what a step changed: what a contract should reject."""
