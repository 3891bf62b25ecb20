# SPDX-License-Identifier: MIT
"""Each deliberate fault of tests/sim/mutations*.py has its place in the tree: the text stands there once, and the fault changes it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
from anchor import matches  # noqa: E402

TABLES = ["tests/sim/mutations.py", "tests/sim/mutations_schedule.py"]


def rows(tree):
    """Those of each table, with its name."""
    for table in TABLES:
        names = {}
        exec(compile(tree.texts.get(table, "MUTATIONS = []"), table, "exec"), names)  # pylint: disable=exec-used
        yield from ((table, *row) for row in names["MUTATIONS"])


def check(tree, _context):
    complaints, seen = [], set()
    for table, name, place, was, now, *_ in rows(tree):
        file, _, function = place.partition(":")
        found = len(matches(tree.texts[file], function or None, was)) if file in tree.texts else 0
        if found != 1:
            complaints.append(f"{table}: {name}: its text stands in {place} {found} times, not once")
        if was.split() == now.split():
            complaints.append(f"{table}: {name}: changes nothing")
        if name in seen:
            complaints.append(f"{table}: {name}: the name is taken")
        seen.add(name)
    return complaints


FILE = "int a(int x)\n{\n\tif (x > 1 &&\n\t    x < 9)\n\t\treturn 1;\n\treturn 2;\n}\n\nint b(void)\n{\n\treturn 1;\n}\n"


def tree_of(*faults):
    return {"emu/a.c": FILE} | {table: f"MUTATIONS = {list(faults[i::2])!r}\n" for i, table in enumerate(TABLES)}


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
