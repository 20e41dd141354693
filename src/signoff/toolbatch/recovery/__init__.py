"""Recovery: what kind of failure it is, how often it came, and a concrete way on."""

from signoff.toolbatch.recovery.advice import Advice, Failed, advise
from signoff.toolbatch.recovery.categories import Category, Failure, failure_of
from signoff.toolbatch.recovery.episodes import Episode, Episodes

__all__ = [
    "Advice",
    "Category",
    "Episode",
    "Episodes",
    "Failed",
    "Failure",
    "advise",
    "failure_of",
]
