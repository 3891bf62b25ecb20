# SPDX-License-Identifier: MIT
"""A switch over an enum of ours names every value: a default: would hide the value added tomorrow."""

import re

from tree import code_only, without_directives

ENUM = re.compile(r"\benum\b[^;{}()]*\{([^}]*)\}")
ENUMERATOR = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
SWITCH = re.compile(r"\bswitch\s*\(")
CASE = re.compile(r"\bcase\s+([A-Za-z_]\w*)\s*(?:\.\.\.[^:]*)?:")
DEFAULT = re.compile(r"\bdefault\s*:")


def check(tree, _context):
    codes = {p: without_directives(code_only(t)) for p, t in tree.sources()}
    ours = {name for code in codes.values() for body in ENUM.findall(code)
            for name in ENUMERATOR.findall(body)}
    complaints = []
    for path, code in codes.items():
        for start, body in switches(code):
            names = set(CASE.findall(body))
            if DEFAULT.search(body) and names & ours:
                line = code.count("\n", 0, start) + 1
                complaints.append(f"{path}:{line}: default: beside {sorted(names & ours)[0]}, "
                                  "a value of our own enum")
    return complaints


def switches(code):
    """The position and the own body (inner switches cut out) of every switch."""
    for found in SWITCH.finditer(code):
        opening = code.find("{", found.end())
        if opening >= 0:
            yield found.start(), own_body(code[opening:closing(code, opening) + 1])


def closing(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code) - 1


def own_body(body):
    inner = SWITCH.search(body)
    while inner:
        opening = body.find("{", inner.end())
        if opening < 0:
            break
        body = body[:inner.start()] + body[closing(body, opening) + 1:]
        inner = SWITCH.search(body)
    return body


ENUM_TEXT = "enum color {\n\tRED = 1,\n\tBLUE, /* sky */\n};\n"
GOOD = [
    {"emu/a.h": ENUM_TEXT, "emu/a.c": "switch (x) { case RED: f(); case BLUE: g(); }\n"},
    {"emu/a.h": ENUM_TEXT, "emu/a.c": "switch (x) { case EPERM: f(); default: g(); }\n"},
    {"emu/a.h": ENUM_TEXT, "emu/a.c": "switch (x) { case 'a': switch (y) { case RED: f(); } "
                                      "default: g(); }\n"},
]
BAD = [
    {"emu/a.h": ENUM_TEXT, "emu/a.c": "switch (x) { case RED: f(); default: g(); }\n"},
    {"emu/a.h": ENUM_TEXT, "emu/a.c": "switch (x) {\ncase BLUE: {\n f();\n}\ndefault:\n g();\n}\n"},
    {"emu/a.h": ENUM_TEXT, "emu/a.c": "switch (y) { case 1: switch (x) { case RED: f(); default: "
                                      "g(); } }\n"},
]
