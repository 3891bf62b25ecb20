# SPDX-License-Identifier: MIT
"""Words that the house no longer uses, in names, comments, messages and docs: each has a standard word."""

import re

from tree import lines_matching

RETIRED = {
    "errand": "remote request", "sheet": "mailbox", "goodbye": "TIME_WAIT", "verdict": "result or error",
    "pump": "progress engine", "nap": "step back", "napping": "step back", "doze": "sleep", "dozing": "sleep",
    "deaf": "without the link", "neighbour": "neighbor entry or local peer", "perish": "enter error", "doomed": "fatal",
    "patience": "timeout", "lent": "wrap", "lend": "wrap", "anew": "again", "for ever": "forever",
    "so many": "N", "so long": "until", "whoever": "the caller, by name", "peace": "RNR back-off",
}

WORD = re.compile(r"(?<![a-z])(" + "|".join(re.escape(w) + "s?" for w in sorted(RETIRED)) + r")(?![a-z])", re.IGNORECASE)
SELF = "tests/tidy/"


def check(tree, _context):
    complaints = []
    for path in sorted(tree.texts):
        if path.startswith(SELF):
            continue
        # An identifier is words between underscores.
        for number, found in lines_matching(tree.texts[path].replace("_", " "), WORD):
            word = found.group(1).lower()
            standard = RETIRED.get(word) or RETIRED[word.removesuffix("s")]
            complaints.append(f"{path}:{number}: '{word}': write {standard}")
    return complaints


GOOD = [{"emu/a.c": "/* A remote request waits in its mailbox. */\nint neighbor_find(void); int snap, clients; bool is_silent;\n"}]
BAD = [
    {"emu/a.c": "/* An errand. */\n"},
    {"emu/a.h": "int ctl_errands_run(void);\n"},
    {"docs/A.md": "It asks anew.\n"},
    {"tests/unit/a.c": "START_TEST(waits_for_ever)\n"},
    {"rxe_dm/a.c": 'log("the neighbour does not answer");\n'},
]
