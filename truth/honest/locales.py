"""Languages, character sets and time zones of the person who runs it."""

from __future__ import annotations

from truth.case import WORK, Accepted, Case, Door

AGENT = f"echo 'Grüße, İstanbul, 東京 ✅'; {WORK}; echo ş > 'dosya-ığüşöç'"
CONTRACT = "grep -qx works product.txt && test -e 'dosya-ığüşöç' && echo 'tamam ✓'"
LOCALES: dict[str, dict[str, str]] = {
    "C": {"LANG": "C", "LC_ALL": "C"},
    "POSIX without coercion to UTF-8": {
        "LC_ALL": "POSIX",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
    },
    "C.UTF-8": {"LC_ALL": "C.UTF-8"},
    "tr_TR.UTF-8": {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    "ja_JP.eucJP": {"LANG": "ja_JP.eucJP", "LC_ALL": "ja_JP.eucJP"},
    "de_DE.ISO-8859-1": {"LC_ALL": "de_DE.ISO-8859-1"},
    "one that does not exist": {"LC_ALL": "xx_YY.nonsense"},
    "an empty one": {"LANG": "", "LC_ALL": ""},
}
ZONES = ("Asia/Kathmandu", "Pacific/Kiritimati", "America/St_Johns", "no/such/zone", "")

CASES = (
    *(
        Case(f"the time zone may be {zone or 'unset'}", Accepted(attempts=1), environ={"TZ": zone})
        for zone in ZONES
    ),
    *(
        Case(
            f"the locale may be {name}",
            Accepted(attempts=1),
            contract=CONTRACT,
            agent=AGENT,
            environ=variables,
            door=Door.COMMAND,
        )
        for name, variables in LOCALES.items()
    ),
    Case(
        "a contract may choose its own locale",
        Accepted(attempts=1),
        contract="export LC_ALL=C; sort -c product.txt && grep -qx works product.txt",
        environ={"LC_ALL": "C.UTF-8"},
        fields="",
    ),
    Case(
        "a program that asks for the user's language gets it",
        Accepted(attempts=1),
        contract='test "$LANG" = tr_TR.UTF-8 && grep -qx works product.txt',
        environ={"LANG": "tr_TR.UTF-8"},
        fields="",
    ),
)
