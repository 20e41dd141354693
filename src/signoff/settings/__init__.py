"""Configuration: the repository's `signoff.toml` and the user's own file, as validated values.

The repository's file travels with the work, so an agent can write it: it is pinned at approval
and may only make checks stricter. What could loosen a check is read from the user's file alone.
"""
