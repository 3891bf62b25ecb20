# SPDX-License-Identifier: MIT
"""Retired words in names, comments, messages and docs: each has a standard word."""

import re

from tree import lines_matching

RETIRED = {
    "errand": "remote request", "sheet": "mailbox", "goodbye": "TIME_WAIT", "verdict": "result or error",
    "pump": "progress engine", "nap": "step back", "napping": "step back", "doze": "sleep", "dozing": "sleep",
    "deaf": "without the link", "neighbour": "neighbor entry or local peer", "perish": "enter error", "doomed": "fatal",
    "patience": "timeout", "lent": "wrap", "lend": "wrap", "anew": "again", "for ever": "forever",
    "so many": "N", "so long": "until", "whoever": "the caller, by name", "peace": "RNR back-off",
}

# Retired in names only: sentences use them in their common senses.
RETIRED_IN_NAMES = {"told": "reported or injected", "gone": "exited, destroyed or unmapped"}

WORD = re.compile(r"(?<![a-z])(" + "|".join(re.escape(w) + "s?" for w in sorted(RETIRED)) + r")(?![a-z])", re.IGNORECASE)
PART = re.compile(r"(?:(?<=_)(?:{0})(?![a-z])|(?<![a-z])(?:{0})(?=_))".format("|".join(RETIRED_IN_NAMES)), re.IGNORECASE)
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
        for number, found in lines_matching(tree.texts[path], PART):
            word = found.group().lower()
            complaints.append(f"{path}:{number}: '{word}' in a name: write {RETIRED_IN_NAMES[word]}")
    return complaints


GOOD = [
    {"emu/a.c": "/* A remote request waits in its mailbox. */\nint neighbor_find(void); int snap, clients; bool is_silent;\n"},
    {"emu/a.c": "/* PSNs that cannot be told apart; a second is gone. */\nint old_goneril, untold_x;\n"},
]
BAD = [
    {"emu/a.c": "/* An errand. */\n"},
    {"emu/a.h": "int ctl_errands_run(void);\n"},
    {"docs/A.md": "It asks anew.\n"},
    {"tests/unit/a.c": "START_TEST(waits_for_ever)\n"},
    {"rxe_dm/a.c": 'log("the neighbour does not answer");\n'},
    {"emu/a.h": "bool is_gone;\n"},
    {"tests/unit/a.c": "START_TEST(told_of_a_failure)\n"},
    {"emu/a.h": "#define KEY_GONE 4\n"},
]
