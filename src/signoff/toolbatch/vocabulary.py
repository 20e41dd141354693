"""The words that sentences about files are read by: verbs, and the small words around them."""

from __future__ import annotations

import re
from enum import Enum

from signoff.toolbatch.wordings import ARTICLES, forms, words


class Verb(Enum):
    """What a verb does with the files behind it."""

    MAKE = "make"  # its object is made, or lies in what is made
    BUILD = "build"  # the same, unless its object is there: that is what is built, not made
    SAVE = "save"  # the same, until it is told where to
    PUT = "put"  # the place is made, the object was there
    TURN = "turn"  # one thing into another
    ADD = "add"
    CHANGE = "change"
    OTHER = "other"


VERBS = {
    form: verb
    for verb, stems in (
        (Verb.MAKE, "create make write generate produce draft compose author scaffold develop"),
        (Verb.BUILD, "build implement prepare provide populate"),
        (Verb.SAVE, "save export render output dump"),
        (Verb.PUT, "put store place record"),
        (
            Verb.TURN,
            "convert translate rename move copy transform turn port migrate split merge combine"
            " concatenate extract compile",
        ),
        (Verb.ADD, "add append insert prepend"),
        (
            Verb.CHANGE,
            "update edit modify change patch correct rewrite refactor improve extend adjust"
            " optimize optimise simplify fix annotate document revise enhance reformat restructure",
        ),
        (
            Verb.OTHER,
            "use run read execute analyze analyse parse process take look review study examine"
            " inspect set bump delete remove install check find list explain describe test verify"
            " validate ensure compare search open fetch download commit deploy configure enable"
            " disable replace clean debug solve investigate upgrade downgrade drop see lint",
        ),
    )
    for form in forms(stems)
}
MAKING = frozenset({Verb.MAKE, Verb.BUILD, Verb.SAVE})
WRITES_TO = frozenset({Verb.SAVE, Verb.TURN, Verb.ADD})
WRITING = forms("write generate produce")  # these may say where to, as well

AT_ONCE = words("and then also")
LEADS = words(
    "please then also now first second third finally next lastly afterwards and to you your task is"
    " need want i we must should have can could would will like let's lets let us me help go ahead"
    " just kindly the goal job hi hello hey ok okay step thanks today additionally furthermore i'd"
    " i’d we'd we’d it's do"
)
MAY = words("can may might could")
MODALS = MAY | words("must should will would shall needs")
NEGATES = words("not never don't dont don’t doesn't avoid avoiding cannot can't")
SPARES = words("without except instead rather excluding")
SUBORDINATES = words("that which who whose whom so because since while although whereas until")
CONDITIONS = words("if unless maybe optionally perhaps possibly")
AS_NEEDED = words("needed necessary appropriate applicable possible required")
QUESTIONS = words("what why how where who whose which is are does did has was were")
WHEN = words("when once whenever")
FINISHED = words("done finished ready complete you you're you’re that this everything all")
REFERS = words(
    "from of for about using like via per after before than against based regarding given see such"
    " listing describing documenting explaining covering summarising summarizing showing reporting"
    " similar according by on"
)
TARGETS = words("in into as at called named titled under inside within")
FOLDERS = words("in inside under into within")  # before a folder: what came before lies in it
HOLDS = words("with containing holding")  # behind a folder: what comes lies in it
PARTS = words("all each both any some rest")  # of what follows, which is meant itself
POINTERS = words(  # what is "to a file" without changing it
    "link links reference references pointer redirect redirects path route symlink alias answer"
    " reply response import imports call calls access equivalent"
)
NO_FILES = words(  # nouns whose names read like paths
    "endpoint endpoints route routes url urls uri branch tag domain host hostname email pattern"
    " regex function method attribute class property variable key package library"
)
FILES = words(
    "file files page pages script scripts module modules document documents folder directory"
    " existing new whole entire following"
)
PROJECT = words("project repo repository codebase root workspace folder directory package")
PARTICIPLE = re.compile(r"\w{3,}(?:ing|ed)")
FUNCTION_WORDS = (
    LEADS
    | NEGATES
    | SPARES
    | SUBORDINATES
    | CONDITIONS
    | WHEN
    | REFERS
    | TARGETS
    | HOLDS
    | FILES
    | ARTICLES
    | words("or but too again here there where etc both each und et")
)
