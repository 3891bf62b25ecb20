# SPDX-License-Identifier: MIT
"""No unfinished business, no dead code, no path of somebody's machine, anywhere in the tree."""

import re

from tree import lines_matching

# Written so that this file does not find itself.
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
DEAD = re.compile(r"^\s*#\s*if\s+0\b")
TEST_ONLY = re.compile(r"^\s*#\s*if.*\bUNIT_" + r"TEST\b")
MACHINE = re.compile(r"(?<![\w.$}])/(home|work|root|Users)/[\w.]")
SELF = "tests/tidy/"


def check(tree, _context):
    complaints = []
    for path in sorted(tree.texts):
        text = tree.texts[path]
        if path.startswith(SELF):
            continue
        for number, found in lines_matching(text, UNFINISHED):
            complaints.append(f"{path}:{number}: {found.group(1)}: finish it, or write an issue")
        for number, found in lines_matching(text, MACHINE):
            complaints.append(f"{path}:{number}: {found.group(0)}...: a path of one machine")
        if path.endswith((".c", ".h")):
            for number, _ in lines_matching(text, DEAD):
                complaints.append(f"{path}:{number}: dead code: history keeps it")
            for number, _ in lines_matching(text, TEST_ONLY):
                complaints.append(f"{path}:{number}: code that exists for a test only")
    return complaints


GOOD = [{"a.c": "/* Todo lists are elsewhere */\n#if 1\n#endif\n", "b.sh": "cd \"$HOME/work/x\"\n"}]
BAD = [
    {"emu/a.c": "/* TO" + "DO: later */\n"},
    {"README.md": "FIX" + "ME\n"},
    {"emu/a.h": "int x; // XX" + "X\n"},
    {"emu/a.c": "#if 0\nint x;\n#endif\n"},
    {"emu/a.c": "# if  0\n#endif\n"},
    {"emu/a.c": "#ifdef UNIT_" + "TEST\n#endif\n"},
    {"meson.build": "include = '/home/" + "someone/include'\n"},
    {"tests/run": "cd /work/" + "here\n"},
]
