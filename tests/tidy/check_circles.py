# SPDX-License-Identifier: MIT
"""Circles of calls between the .c files of a room stand in docs/ARCHITECTURE.md with their reason, and no others do."""

import re

from check_arrows import ARROWS, folder_of
from functions import functions
from tree import code_only

DOCUMENT = "docs/ARCHITECTURE.md"
NAMED = re.compile(r"^- circle inside `([^`]+)`:", re.MULTILINE)
CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(")


def is_static(line):
    return line.lstrip().startswith("static ")


def calls(tree, room):
    """For each .c file of the room, the other files of the room in which functions stand that it calls."""
    files = {path: text for path, text in tree.sources((".c",), room + "/") if folder_of(path) == room}
    home, own = {}, {}
    for path, text in files.items():
        lines = text.split("\n")
        own[path] = {f.name for f in functions(text) if is_static(lines[f.first - 1])}
        home.update({f.name: path for f in functions(text) if f.name not in own[path]})
    arrows = {}
    for path, text in files.items():
        called = {name for name in CALL.findall(code_only(text)) if name in home and name not in own[path]}
        arrows[path] = {home[name] for name in called} - {path}
    return arrows


def reached(arrows, path):
    seen, todo = set(), [path]
    while todo:
        for there in arrows[todo.pop()] - seen:
            seen.add(there)
            todo.append(there)
    return seen


def in_circles(arrows):
    """Files from which calls lead back to them, each with the others of its circle."""
    reach = {path: reached(arrows, path) for path in arrows}
    return {path: sorted(there for there in reach[path] if path in reach[there]) for path in arrows if path in reach[path]}


def check(tree, context):
    named = set(NAMED.findall(tree.texts.get(DOCUMENT, "")))
    complaints = []
    for room in ARROWS:
        if room in ("tests", "examples"):
            continue
        arrows = calls(tree, room)
        circles = in_circles(arrows)
        if circles:
            context.report(f"{room}: {len(circles)} of {len(arrows)} files in circles")
        if circles and room not in named:
            for path, others in sorted(circles.items()):
                complaints.append(f"{path}: in a circle of calls that {DOCUMENT} does not name: {', '.join(others)}")
        if not circles and room in named:
            complaints.append(f"{DOCUMENT}: names a circle inside {room}, and there is none")
    complaints += [f"{DOCUMENT}: names a circle inside {room}, which is no room" for room in sorted(named - set(ARROWS))]
    return complaints


A_CALLS_B = "int b(void);\nint a(void)\n{\n\treturn b();\n}\n"
A_OF_ITS_OWN = "static int a(void)\n{\n\treturn 0;\n}\n"
B_CALLS_A = "int b(void)\n{\n\treturn a();\n}\n"
B_ALONE = "int b(void)\n{\n\treturn 0;\n}\n"
GOOD = [
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_ALONE},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, DOCUMENT: "- circle inside `emu`: each needs the other.\n"},
    {"emu/a.c": A_CALLS_B, "emu/b.c": A_OF_ITS_OWN + B_CALLS_A},
]
BAD = [
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_ALONE, DOCUMENT: "- circle inside `emu`: each needs the other.\n"},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, DOCUMENT: "- circle inside `net/wire`: each needs the other.\n"},
]
