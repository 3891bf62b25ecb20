# SPDX-License-Identifier: MIT
"""No file or folder with a name that says nothing."""

import re

REJECTED = {"util", "utils", "utility", "utilities", "common", "misc", "core", "helper", "helpers"}


def check(tree, _context):
    complaints = []
    for path in sorted(tree.texts):
        for part in path.split("/"):
            for word in re.split(r"[^a-z]+", part.lower()):
                if word in REJECTED:
                    complaints.append(f"{path}: '{word}' says nothing: name it after what it holds")
    return complaints


GOOD = [{"emu/mr.c": "", "emu/score.c": "", "docs/ARCHITECTURE.md": ""}]
BAD = [
    {"emu/util.c": ""},
    {"emu/qp_common.h": ""},
    {"lib/core/a.c": ""},
    {"tests/client/helpers.py": ""},
    {"emu/Misc.c": ""},
]
