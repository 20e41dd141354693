"""The insides of a session: writing plans, built-in checks, evidence, finalization, the report."""
