# SPDX-License-Identifier: MIT
"""Each deliberate fault of tests/sim/mutations.py has its place in the tree: the text stands there once, and the fault changes it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
from anchor import matches  # noqa: E402

TABLE = "tests/sim/mutations.py"


def table(tree):
    names = {}
    exec(compile(tree.texts.get(TABLE, "MUTATIONS = []"), TABLE, "exec"), names)  # pylint: disable=exec-used
    return names["MUTATIONS"]


def check(tree, _context):
    complaints, seen = [], set()
    for name, place, was, now, *_ in table(tree):
        file, _, function = place.partition(":")
        found = len(matches(tree.texts[file], function or None, was)) if file in tree.texts else 0
        if found != 1:
            complaints.append(f"{TABLE}: {name}: its text stands in {place} {found} times, not once")
        if was.split() == now.split():
            complaints.append(f"{TABLE}: {name}: changes nothing")
        if name in seen:
            complaints.append(f"{TABLE}: {name}: the name is taken")
        seen.add(name)
    return complaints


FILE = "int a(int x)\n{\n\tif (x > 1 &&\n\t    x < 9)\n\t\treturn 1;\n\treturn 2;\n}\n\nint b(void)\n{\n\treturn 1;\n}\n"


def tree_of(*rows):
    return {"emu/a.c": FILE, TABLE: f"MUTATIONS = {list(rows)!r}\n"}


GOOD = [
    tree_of(("one", "emu/a.c:a", "if (x > 1 && x < 9)", "if (x > 1)", "why")),
    tree_of(("one", "emu/a.c:a", "return 1;", "return 2;", "why"), ("two", "emu/a.c:b", "return 1;\n", "return 3;", "why")),
    tree_of(("one", "emu/a.c", "return 2;", "return 3;", "why")),
]
BAD = [
    tree_of(("one", "emu/a.c", "return 1;", "return 2;", "why")),
    tree_of(("one", "emu/a.c:b", "return 2;", "return 3;", "why")),
    tree_of(("one", "emu/a.c:c", "return 1;", "return 2;", "why")),
    tree_of(("one", "emu/b.c:a", "return 1;", "return 2;", "why")),
    tree_of(("one", "emu/a.c:a", "x > 1", "x  > 1", "why")),
    tree_of(("one", "emu/a.c:a", "x > 1", "x > 2", "why"), ("one", "emu/a.c:a", "x < 9", "x < 8", "why")),
]
