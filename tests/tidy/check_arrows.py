# SPDX-License-Identifier: MIT
"""Includes go one way. The table is docs/ARCHITECTURE.md's picture of the folders, as a table."""

import posixpath
import re

from tree import lines_matching

# A folder may include from itself and from what stands here.
ARROWS = {
    "net/wire": [],
    "net/link": ["net/wire"],
    "emu": ["net/wire"],
    "lib/unkind": ["emu", "net/wire"],
    "lib/inject": ["net/wire", "net/link"],
    "lib/control": ["lib/inject", "emu", "net/wire", "net/link"],
    "lib/progress": ["lib/unkind", "lib/inject", "lib/control", "emu", "net/wire", "net/link"],
    "lib/diagnose": ["lib/inject", "lib/control", "emu", "net/wire", "net/link"],
    "lib/abi": [],
    "lib/refusal": ["lib/control", "lib/inject", "emu", "net/wire", "net/link"],
    "lib/verbs": ["lib/refusal", "lib/abi", "lib/unkind", "lib/progress", "lib/diagnose", "lib/inject", "lib/control", "emu", "net/wire", "net/link"],
    "lib/findings": [],
    "lib/watch": [],
    "lib/check": ["lib/findings", "lib/watch", "lib/verbs", "lib/refusal", "lib/abi", "lib/progress", "lib/control", "emu"],
    "lib/record": ["lib/verbs", "lib/abi", "lib/control", "emu"],
    "lib/check/cm": ["lib/check"],
    "lib/record/cm": ["lib/record"],
    "lib/mlx5": ["lib/verbs", "lib/refusal", "lib/abi", "lib/control", "emu", "net/wire", "net/link"],
    # Above libibverbs by its public calls only.
    "lib/rdmacm": ["lib/refusal", "lib/abi", "lib/control", "emu", "net/wire", "net/link"],
    "lib/rdmacm/rsocket": ["lib/rdmacm", "lib/refusal", "lib/abi", "lib/control", "emu", "net/wire", "net/link"],
    "lib/rdmacm/rsocket_preload": [],
    "lib/redirect": [],
    "rxe_dm/cm": ["emu", "net/wire"],
    "rxe_dm/cma": ["rxe_dm/cm", "lib/control", "emu", "net/wire"],
    "rxe_dm/server": ["lib/findings", "rxe_dm/cma", "rxe_dm/cm", "lib/inject", "lib/control", "emu", "net/wire", "net/link"],
    "rxe_dm/command": ["lib/findings", "lib/unkind", "lib/inject", "lib/control", "net/wire", "net/link"],
    # main.c hands over to one of the two.
    "rxe_dm": ["rxe_dm/server", "rxe_dm/command", "lib/control"],
    "tests": ["net/wire", "net/link", "emu", "rxe_dm/cma", "rxe_dm/cm", "lib/unkind", "lib/inject", "lib/control", "lib/abi", "lib/progress", "lib/diagnose",
              "lib/findings", "lib/watch", "lib/check", "lib/check/cm", "lib/record", "lib/record/cm", "lib/refusal", "lib/verbs", "lib/mlx5", "lib/rdmacm", "lib/rdmacm/rsocket", "rxe_dm/server", "rxe_dm/command"],
    "examples": [],
}

# The silicon and the wire formats know no operating system: these headers and no others.
PLAIN_FOLDERS = ("net/wire", "emu")
PLAIN_HEADERS = {
    "assert.h", "limits.h", "stdalign.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
    "string.h", "libdeflate.h", "utlist.h", "uthash.h",
}

LOCAL = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SYSTEM = re.compile(r"^\s*#\s*include\s+<([^>]+)>")


def folder_of(path):
    """The longest row of the table that holds this path, or None."""
    rows = [row for row in ARROWS if path.startswith(row + "/")]
    return max(rows, key=len) if rows else None


def circles(arrows):
    """Rooms from which the arrows lead back to them."""
    def reach(room, seen):
        for there in arrows[room]:
            if there not in seen:
                seen.add(there)
                reach(there, seen)
        return seen
    return sorted(room for room in arrows if room in reach(room, set()))


def check(tree, _context):
    complaints = [f"the table of arrows has a circle through {room}" for room in circles(ARROWS)]
    if not circles({"a": ["b"], "b": ["c"], "c": ["a"]}) or circles({"a": ["b", "c"], "b": ["c"], "c": []}):
        complaints.append("circles() does not find circles")
    for path, text in tree.sources():
        if folder_of(path) is None:
            complaints.append(f"{path}: lies in a folder that has no row in the table of arrows")
            continue
        complaints += local_includes(tree, path, text)
        complaints += system_includes(path, text)
    return complaints


def local_includes(tree, path, text):
    here = folder_of(path)
    for number, found in lines_matching(text, LOCAL):
        target = found.group(1)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        resolved = beside if beside in tree.texts else posixpath.normpath(target)
        there = folder_of(resolved)
        if ".." in target.split("/"):
            yield f"{path}:{number}: includes {target}: write it from the root"
        elif there is None and "/" in target:
            yield f"{path}:{number}: includes {target}, which is in no folder of the table"
        elif there not in (None, here) and there not in ARROWS[here]:
            yield f"{path}:{number}: {here} includes {resolved}: there is no arrow to {there}"


def system_includes(path, text):
    if folder_of(path) not in PLAIN_FOLDERS:
        return
    for number, found in lines_matching(text, SYSTEM):
        if found.group(1) not in PLAIN_HEADERS:
            yield (f"{path}:{number}: includes <{found.group(1)}>: "
                   f"{folder_of(path)} knows no operating system")


GOOD = [{
    "net/wire/a.h": "#include <stdint.h>\n",
    "emu/b.c": '#include "net/wire/a.h"\n',
    "lib/verbs/c.c": '#include <errno.h>\n#include "emu/d.h"\n#include "c.h"\n',
    "tests/unit/e.c": '#include "rxe_dm/server/f.h"\n',
}]
BAD = [
    {"emu/a.c": '#include "net/link/udp/udp.h"\n'},
    {"emu/a.c": "#include <errno.h>\n"},
    {"net/wire/a.c": '#include "emu/mr.h"\n'},
    {"net/wire/a.h": "#include <infiniband/verbs.h>\n"},
    {"net/link/a.c": '#  include "emu/mr.h"\n'},
    {"rxe_dm/server/a.c": '#include "lib/verbs/qp.h"\n'},
    {"rxe_dm/server/a.c": '#include "rxe_dm/command/b.h"\n'},
    {"rxe_dm/command/a.c": '#include "rxe_dm/server/b.h"\n'},
    {"rxe_dm/command/a.c": '#include "emu/queue.h"\n'},
    {"lib/progress/a.c": '#include "lib/verbs/objects.h"\n'},
    {"rxe_dm/cm/a.c": '#include "lib/control/protocol.h"\n'},
    {"emu/a.c": '#include "../net/wire/b.h"\n', "net/wire/b.h": ""},
    {"emu/a.c": '#include "tests/b.h"\n'},
    {"extra/a.c": "int a;\n"},
]
