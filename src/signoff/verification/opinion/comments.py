"""Source code without its comments, by the grammars that are installed; lines keep their place."""

from __future__ import annotations

from signoff.verification.strength.grammars import SyntaxTree, read


def without_comments(path: str, text: str) -> str:
    """The text with blanks in place of comments; LookupError where no installed grammar reads it.

    Documentation in the code is comment too.
    """
    source = text.encode("utf-8", "replace")
    tree = read(path, source)
    if not isinstance(tree, SyntaxTree):
        raise LookupError(path)
    bare = bytearray(source)
    for place in tree.walk():
        if "comment" in place.node.type or tree.is_documentation(place):
            start, end = place.node.start_byte, place.node.end_byte
            blank = (b" " * len(line) for line in source[start:end].split(b"\n"))
            bare[start:end] = b"\n".join(blank)
    return bare.decode("utf-8", "replace")
