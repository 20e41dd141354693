"""The tables, as numbered migrations. Stored format: add a migration, never edit an old one."""

from __future__ import annotations

# `{bytes}` is the dialect's type for binary data. Entry data is binary because neither
# database stores every Python string as text (lone surrogates, NUL).
_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE plans (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, path {bytes} NOT NULL, repository {bytes})""",
    """CREATE TABLE chains (
        plan TEXT PRIMARY KEY, seq BIGINT NOT NULL, at TEXT NOT NULL, hash TEXT NOT NULL)""",
    """CREATE TABLE entries (
        plan TEXT NOT NULL, seq BIGINT NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
        run TEXT, step TEXT, attempt BIGINT, data {bytes} NOT NULL, ref TEXT,
        prev TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (plan, seq))""",
    "CREATE UNIQUE INDEX one_step_done ON entries (plan, run, step) WHERE kind = 'step.done'",
    "CREATE UNIQUE INDEX one_run_finished ON entries (plan, run) WHERE kind = 'run.finished'",
    "CREATE UNIQUE INDEX one_answer ON entries (plan, ref) WHERE kind = 'escalation.answered'",
    "CREATE INDEX escalations ON entries (plan, ref) WHERE kind = 'escalation.opened'",
    "CREATE INDEX reusable ON entries (ref, at) WHERE kind = 'verdict' AND ref IS NOT NULL",
    """CREATE TABLE runs (
        run TEXT PRIMARY KEY, plan TEXT NOT NULL, token BIGINT NOT NULL, holder TEXT NOT NULL)""",
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data {bytes} NOT NULL)",
)

# Verdicts are looked up in the fold of their own run, no longer by key across all of them.
_SECOND = (
    "DROP INDEX reusable",
    "UPDATE entries SET ref = NULL WHERE kind = 'verdict'",
)

# Named plans: which worktree works on which plan, who holds what until when (by the database's
# clock), and where each plan stood when last written down, for those who only glance.
_THIRD = (
    """CREATE TABLE bindings (
        worktree {bytes} PRIMARY KEY, repository {bytes} NOT NULL, plan TEXT, name TEXT,
        since TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX one_worktree ON bindings (plan) WHERE plan IS NOT NULL",
    """CREATE TABLE leases (
        resource TEXT PRIMARY KEY, repository {bytes}, plan TEXT NOT NULL, run TEXT,
        worker TEXT NOT NULL, holder TEXT NOT NULL, token BIGINT NOT NULL,
        until_s DOUBLE PRECISION NOT NULL, touches TEXT)""",
    """CREATE TABLE standings (
        plan TEXT PRIMARY KEY, seq BIGINT NOT NULL, status TEXT NOT NULL, done BIGINT NOT NULL,
        total BIGINT NOT NULL, step TEXT, title TEXT)""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND, _THIRD)
VERSION = len(MIGRATIONS)

READ_VERSION = "SELECT value FROM meta WHERE key = 'schema'"
WRITE_VERSION = (
    "INSERT INTO meta (key, value) VALUES ('schema', ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
