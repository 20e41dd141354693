"""Configuration: the repository's `signoff.toml` and the user's own file, as validated values.

The repository's file travels with the work, so an agent can write it: it is pinned at approval
and may only make checks stricter. What could loosen a check is read from the user's file alone.
"""

from signoff.settings.agent import (
    BlockedRule,
    EvidenceRule,
    RatchetRule,
    SelfSetRule,
    SessionPolicy,
)
from signoff.settings.batches import BatchPolicy
from signoff.settings.loading import (
    HUMAN_ROLE,
    MOST_JUDGINGS,
    REPOSITORY_FILE,
    Policy,
    Role,
    RoleKind,
    Sandbox,
    SandboxChoice,
    Settings,
    implied_variables,
    load_settings,
    read_config_text,
    says_the_same,
    settings_from_pin,
)

__all__ = [
    "HUMAN_ROLE",
    "MOST_JUDGINGS",
    "REPOSITORY_FILE",
    "BatchPolicy",
    "BlockedRule",
    "EvidenceRule",
    "Policy",
    "RatchetRule",
    "Role",
    "RoleKind",
    "Sandbox",
    "SandboxChoice",
    "SelfSetRule",
    "SessionPolicy",
    "Settings",
    "implied_variables",
    "load_settings",
    "read_config_text",
    "says_the_same",
    "settings_from_pin",
]
