"""File names that the system allows and programs trip over."""

from __future__ import annotations

from truth.case import WORK, Accepted, Case

# What the name is like, and the name as bash writes it.
NAMES: dict[str, str] = {
    "spaces": "'a file with  spaces'",
    "a space at its end": "'trailing '",
    "a leading dash": "./-rf",
    "a newline": r"$'two\nlines'",
    "a tab and a bell": r"$'tab\tbell\a'",
    "an escape code": r"$'\e[31mred\e[0m'",
    "bytes that are no UTF-8": r"$'\xff\xfe\x80'",
    "quotes": r"""$'it\'s "quoted"'""",
    "a backslash": r"'back\slash'",
    "glob characters": "'[a-z]*?{x}'",
    "shell syntax": r"'$HOME `id`; rm -rf & | < > $(x)'",
    "a hash and a colon": "'#fragment:with=signs'",
    "Japanese text": "'日本語のファイル'",
    "an emoji": "'🚀✅'",
    "text from right to left": "'قائمة'",
    "an invisible character": r"$'zero\u200bwidth'",
    "a replacement character": r"$'\ufffd'",
    "the length limit": "$(printf 'x%.0s' {1..255})",
    "a tilde": "'~root'",
    "markdown": "'**contract:** `x`'",
    "the name of an ignore file's comment": "'!important'",
}

CASES = (
    *(
        Case(
            f"a file name may have {what}",
            Accepted(attempts=1),
            contract=f'name={name}; grep -qx works -- "$name"',
            agent=f'name={name}; echo works > "$name"',
        )
        for what, name in NAMES.items()
    ),
    Case(
        "composed and decomposed letters are different names",
        Accepted(attempts=1),
        contract=r"grep -qx composed $'caf\u00e9' && grep -qx decomposed $'cafe\u0301'",
        agent=r"echo composed > $'caf\u00e9'; echo decomposed > $'cafe\u0301'",
        environ={"LC_ALL": "C.UTF-8"},
    ),
    Case(
        "names that differ in case are different names",
        Accepted(attempts=1),
        contract="grep -qx big README && grep -qx small readme",
        agent="echo big > README; echo small > readme",
    ),
    Case(
        "a folder name may be no UTF-8",
        Accepted(attempts=1),
        contract=r"grep -qx works $'d\xff/product.txt'",
        agent=r"mkdir $'d\xff'; echo works > $'d\xff/product.txt'",
    ),
    Case(
        "files with odd names may be declared as a whole",
        Accepted(attempts=1),
        contract=r"date > $'out/\xff now' && grep -qx works product.txt",
        fields="**writes:** out/**\n",
        agent=f"{WORK}; mkdir out; touch 'out/a b'",
    ),
    Case(
        "a file with an odd name may be produced and pinned",
        Accepted(attempts=1),
        contract="grep -qx works 'über uns.txt'",
        fields="**produces:**\n- über uns.txt\n",
        agent="echo works > 'über uns.txt'",
        environ={"LC_ALL": "C.UTF-8"},
    ),
)
