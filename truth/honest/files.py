"""Files of every kind that a file system can hold."""

from __future__ import annotations

from truth.case import WORK, Accepted, Case

CASES = (
    Case(
        "a link inside the workspace is content",
        Accepted(attempts=1),
        contract="test -L current && grep -qx works current",
        agent=f"{WORK}; ln -s product.txt current",
    ),
    Case(
        "a link that leads nowhere is content",
        Accepted(attempts=1),
        contract="test -L later && ! test -e later && grep -qx works product.txt",
        agent=f"{WORK}; ln -s not-there-yet later",
    ),
    Case(
        "a link to a folder is not walked into",
        Accepted(attempts=1),
        contract="grep -qx works latest/product.txt",
        agent="mkdir v1; echo works > v1/product.txt; ln -s v1 latest",
    ),
    Case(
        "links that lead in a circle stop nothing",
        Accepted(attempts=1),
        agent=f"{WORK}; ln -s b a; ln -s a b; mkdir d; ln -s ../d d/self",
    ),
    Case(
        "a link to somewhere else on the machine is content, what it leads to is not",
        Accepted(attempts=1),
        agent=f"{WORK}; ln -s /usr/bin tools; ln -s /etc/passwd users",
    ),
    Case(
        "an absolute link into the workspace is content",
        Accepted(attempts=1),
        contract="grep -qx works current",
        agent=f'{WORK}; ln -s "$PWD/product.txt" current',
        fields="",
    ),
    Case(
        "a big file is content",
        Accepted(attempts=1),
        contract="test $(stat -c %s big.bin) = 52428800",
        agent="head -c 52428800 /dev/urandom > big.bin",
    ),
    Case(
        "a big file may be ignored",
        Accepted(attempts=1),
        contract="test $(stat -c %s data/big.bin) = 52428800",
        files={".gitignore": "data/\n"},
        agent="mkdir data; head -c 52428800 /dev/zero > data/big.bin",
    ),
    Case(
        "a file with a hole is not read for ever",
        Accepted(attempts=1),
        contract="test $(stat -c %s sparse.img) = 268435456",
        agent="truncate -s 256M sparse.img",
    ),
    Case(
        "read-only files are content",
        Accepted(attempts=1),
        agent=f"{WORK}; chmod 444 product.txt; echo x > locked; chmod 400 locked",
    ),
    Case(
        "a read-only folder is content",
        Accepted(attempts=1),
        contract="grep -qx works locked/product.txt",
        agent="mkdir locked; echo works > locked/product.txt; chmod 555 locked",
    ),
    Case(
        "read-only files that were there before may stay as they are",
        Accepted(attempts=1),
        prepare="mkdir vendor; echo x > vendor/lib; chmod 444 vendor/lib; chmod 555 vendor",
    ),
    Case(
        "a script that the work is about may become executable",
        Accepted(attempts=1),
        contract="bin/tool | grep -qx works",
        files={"bin/tool": "#!/bin/sh\necho works\n"},
        agent="chmod +x bin/tool",
        fields="**produces:** bin/tool\n",
    ),
    Case(
        "an empty file is a product like any other",
        Accepted(attempts=1),
        contract="test -e py.typed && ! test -s py.typed",
        agent=": > py.typed",
    ),
    Case(
        "an empty folder is a product like any other",
        Accepted(attempts=1),
        contract="test -d uploads",
        agent="mkdir uploads",
    ),
    Case(
        "a file may be deleted",
        Accepted(attempts=1),
        contract="! test -e legacy.txt",
        files={"legacy.txt": "old\n"},
        agent="rm legacy.txt",
    ),
    Case(
        "a folder full of files may be deleted",
        Accepted(attempts=1),
        contract="! test -e legacy",
        prepare="mkdir -p legacy/a/b; for i in {1..50}; do echo $i > legacy/a/b/$i; done",
        agent="rm -r legacy",
    ),
    Case(
        "a file may be renamed",
        Accepted(attempts=1),
        contract="test -e new.txt && ! test -e old.txt",
        files={"old.txt": "text\n"},
        agent="mv old.txt new.txt",
    ),
    Case(
        "a file may become a folder, and a folder a file",
        Accepted(attempts=1),
        contract="test -d one && test -f two",
        files={"one": "text\n", "two/inner": "text\n"},
        agent="rm one; mkdir one; mv two/inner x; rmdir two; mv x two; echo y > one/inner",
    ),
    Case(
        "a file may become a link",
        Accepted(attempts=1),
        contract="test -L old.txt && grep -q text old.txt",
        files={"old.txt": "text\n"},
        agent="mv old.txt new.txt; ln -s new.txt old.txt",
    ),
    Case(
        "hard links are files",
        Accepted(attempts=1),
        contract="grep -qx works product.txt && grep -qx works same.txt",
        agent=f"{WORK}; ln product.txt same.txt",
    ),
    Case(
        "a named pipe in the workspace is not read",
        Accepted(attempts=1),
        agent=f"{WORK}; mkfifo queue",
    ),
    Case(
        "a socket left in the workspace is not read",
        Accepted(attempts=1),
        agent="#!/usr/bin/env python3\nimport socket\n"
        "socket.socket(socket.AF_UNIX).bind('control.sock')\n"
        "open('product.txt', 'w').write('works\\n')\n",
    ),
    Case(
        "folders may nest forty deep",
        Accepted(attempts=1),
        contract="find . -name bottom | grep -q /d/bottom",
        agent='p=.; for i in {1..40}; do p="$p/d"; done; mkdir -p "$p"; touch "$p/bottom"',
    ),
    Case(
        "times in the past and in the future change nothing",
        Accepted(attempts=1),
        agent=f"{WORK}; touch -d 1970-01-02 product.txt; touch -d 2037-12-31 later; touch -d @0 x",
    ),
    Case(
        "binary content with every byte is content",
        Accepted(attempts=1),
        contract="test $(sha256sum < all.bin | cut -c1-8) = 40aff2e9",
        agent="#!/usr/bin/env python3\nopen('all.bin', 'wb').write(bytes(range(256)))\n",
    ),
    Case(
        "files with DOS line ends are content",
        Accepted(attempts=1),
        contract=r"grep -q $'^works\r$' product.txt",
        agent=r"printf 'works\r\n' > product.txt",
        fields="",
    ),
    Case(
        "hidden files are content",
        Accepted(attempts=1),
        contract="grep -q x .config/tool/.rc",
        agent="mkdir -p .config/tool; echo x > .config/tool/.rc",
    ),
    Case(
        "a file that was rewritten many times is as it was in the end",
        Accepted(attempts=1),
        agent=f"for i in {{1..300}}; do echo $i > product.txt; done; {WORK}",
    ),
    Case(
        "a file of one long line is content",
        Accepted(attempts=1),
        contract="test $(wc -l < minified.js) = 0 && test $(wc -c < minified.js) = 5000000",
        agent="head -c 5000000 /dev/zero | tr '\\0' x > minified.js",
    ),
)
