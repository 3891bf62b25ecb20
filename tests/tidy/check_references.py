# SPDX-License-Identifier: MIT
"""A source file that a comment, a document or a build file names by its path is there."""

import re

from tree import lines_matching

NAMED = re.compile(r"(?<![\w/.<-])((?:emu|net/wire|net/link|lib|rxe_dm/server|rxe_dm/command|tests|examples)/[\w/]+\.(?:c|h|py|tsv|txt))\b")
SUFFIXES = (".c", ".h", ".py", ".md", ".1", ".7", "meson.build")
GENERATED = {"lib/abi/version.h", "lib/mlx5/newer_all.h"}
SELF = "tests/tidy/"


def check(tree, _context):
    complaints = []
    for path, text in tree.sources(SUFFIXES):
        if path.startswith(SELF):
            continue
        for number, found in lines_matching(text, NAMED):
            target = found.group(1)
            if target not in tree.texts and target not in GENERATED:
                complaints.append(f"{path}:{number}: names {target}, which is not there")
    return complaints


GOOD = [{
    "emu/a.c": "/* See emu/b.h and net/if.h. */\n#include <net/if.h>\n",
    "emu/b.h": "",
    "docs/A.md": "`emu/b.h` has the order; installed as include/rxe_dm/newer.h.\n",
}]
BAD = [
    {"emu/a.c": "/* See emu/b.h. */\n"},
    {"docs/A.md": "(`lib/progress/gone.c`)\n"},
    {"lib/verbs/a.c": '#include "lib/abi/b.h"\n'},
    {"tests/meson.build": "# tests/unit/b.py\n"},
]
