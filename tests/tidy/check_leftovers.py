# SPDX-License-Identifier: MIT
"""Nothing that a compiler, a profiler, an editor or a merge left behind is part of the tree."""

import re

LEFTOVER = re.compile(r"\.(profraw|profdata|gcda|gcno|orig|rej|o|a|so|swp)$|~$|(^|/)core(\.\d+)?$")


def check(tree, _context):
    return [f"{path}: a leftover; remove it, or have .gitignore name it" for path in sorted(tree.texts) if LEFTOVER.search(path)]


GOOD = [{"emu/core.c": "", "rxe_dm/.gitignore": "", "tests/wire/a.pcap": ""}]
BAD = [
    {"default.profraw": ""},
    {"emu/qp.o": ""},
    {"emu/qp.c.orig": ""},
    {"tests/core": ""},
    {"docs/TESTING.md~": ""},
]
