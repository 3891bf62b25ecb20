# SPDX-License-Identifier: MIT
"""Circles inside a room stand in docs/ARCHITECTURE.md with their members and a reason, and no others do.

Two graphs for each room, never joined: what the code of a file names (functions that it calls, also in functions inline in
headers; functions and tables of other files that stand in its own tables), and what it includes. x.c and x.h are one node.
A table that a caller hands over at run time is no arrow."""

import posixpath
import re

from check_arrows import ARROWS, LOCAL, folder_of
from functions import functions
from tree import code_only, lines_matching

DOCUMENT = "docs/ARCHITECTURE.md"
LISTED = re.compile(r"^- circle of (calls|includes) inside `([^`]+)`: ([^:`]+):\s+\S", re.MULTILINE)
# Not a member, and not the name of an enum value's or a struct's member in an initialiser.
WORD = re.compile(r"(?<![\w.>])[A-Za-z_]\w*(?=(\s*\()?)")
# A variable, a parameter or a member that has the name: a type or a star comes before it.
DECLARED = re.compile(r"(?:\b(?!return\b|else\b|case\b|goto\b|sizeof\b)[A-Za-z_]\w*[ \t]+|\*[ \t]*)([A-Za-z_]\w*)\s*(?=[,;)=\[:])")
EXTERN = re.compile(r"^extern\s[^;()]*?\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=[,;])", re.MULTILINE)
DEFINED = re.compile(r"^(?!static\b|extern\b)[A-Za-z_][^;{}()=]*?\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*[=;]", re.MULTILINE)


def module(path):
    return posixpath.splitext(path)[0]


class File:
    """One file of a room: the names that others may use, those that stay its own, and its code."""

    def __init__(self, path, text, shared):
        self.module, self.code = module(path), code_only(text)
        lines = self.code.split("\n")
        found = functions(text)
        if path.endswith(".h"):
            self.static, self.offered = set(), {f.name for f in found}
            self.code = "\n".join("\n".join(lines[f.first - 1:f.last]) for f in found)
        else:
            self.static = {f.name for f in found if lines[f.first - 1].lstrip().startswith("static ")}
            self.offered = {f.name for f in found} - self.static | set(DEFINED.findall(self.code)) & shared
        self.variables = set(DECLARED.findall(self.code)) - self.offered

    def names(self):
        """What its code names in other files. A word that is a variable of this file counts only as a call."""
        return {word.group(0) for word in WORD.finditer(self.code)
                if word.group(1) or word.group(0) not in self.variables} - self.static - self.offered


def files_of(tree, room):
    return {path: text for path, text in tree.sources(under=room + "/") if folder_of(path) == room}


def calls(tree, room):
    """For each module of the room, the other modules whose functions and tables its code names."""
    texts = files_of(tree, room)
    shared = {name for path, text in texts.items() if path.endswith(".h") for name in EXTERN.findall(code_only(text))}
    files = [File(path, text, shared) for path, text in texts.items()]
    home = {}
    for file in files:
        for name in file.offered:
            home.setdefault(name, set()).add(file.module)
    arrows = {file.module: set() for file in files}
    for file in files:
        for name in file.names() & home.keys():
            arrows[file.module] |= home[name] - {file.module}
    return arrows


def includes(tree, room):
    """For each module of the room, the other modules whose headers it includes."""
    texts = files_of(tree, room)
    arrows = {module(path): set() for path in texts}
    for path, text in texts.items():
        for _, found in lines_matching(text, LOCAL):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), found.group(1)))
            target = beside if beside in texts else posixpath.normpath(found.group(1))
            if target in texts and module(target) != module(path):
                arrows[module(path)].add(module(target))
    return arrows


def reached(arrows, node):
    seen, todo = set(), [node]
    while todo:
        for there in arrows[todo.pop()] - seen:
            seen.add(there)
            todo.append(there)
    return seen


def circles(arrows):
    """The circles, each a set of nodes from which the arrows lead to one another."""
    reach = {node: reached(arrows, node) for node in arrows}
    return {frozenset(there for there in reach[node] if node in reach[there]) for node in arrows if node in reach[node]}


def counted(tree):
    """All circles of the code: (kind, room, members)."""
    for room in ARROWS:
        if room not in ("tests", "examples"):
            for kind, graph in (("calls", calls), ("includes", includes)):
                for members in circles(graph(tree, room)):
                    yield kind, room, frozenset(member[len(room) + 1:] for member in members)


def listed(tree):
    """All circles of the document, in the same form."""
    for kind, room, members in LISTED.findall(tree.texts.get(DOCUMENT, "")):
        yield kind, room, frozenset(members.replace(",", " ").split())


def line_of(circle):
    kind, room, members = circle
    return f"circle of {kind} inside `{room}`: {', '.join(sorted(members))}"


def check(tree, context):
    there, named = set(counted(tree)), set(listed(tree))
    for kind, room, members in sorted(there, key=line_of):
        context.report(f"{room}: a circle of {kind} of {len(members)} files")
    return [f"{DOCUMENT}: does not list the {line_of(circle)}" for circle in sorted(there - named, key=line_of)] + \
           [f"{DOCUMENT}: lists a {line_of(circle)}, and there is no such circle" for circle in sorted(named - there, key=line_of)]


def document(kind, room, members):
    return {DOCUMENT: f"- circle of {kind} inside `{room}`: {members}: each needs the\n  other.\n"}


A_CALLS_B = "int b(void);\nint a(void)\n{\n\treturn b();\n}\n"
A_OF_ITS_OWN = "static int a(void)\n{\n\treturn 0;\n}\n"
B_CALLS_A = "int b(void)\n{\n\treturn a();\n}\n"
B_ALONE = "int b(void)\n{\n\treturn 0;\n}\n"
B_INLINE = "static inline int b(void)\n{\n\treturn a();\n}\n"
B_TABLE = "const struct ops b_ops = {\n\t.open = a,\n};\n"
B_STATIC_TABLE = "static const struct ops ops = {\n\t.open = a,\n};\n" + B_ALONE
B_HAS_VARIABLE_A = "int b(int a)\n{\n\treturn a + 1;\n}\n"
B_CALLS_MEMBER_A = "int b(const struct ops *ops)\n{\n\treturn ops->a();\n}\n"
A_NAMES_TABLE = "int a(void)\n{\n\treturn open_by(&b_ops);\n}\n"
A_INCLUDES_B = '#include "emu/b.h"\n'
B_INCLUDES_A = '#include "emu/a.h"\n'
BOTH = document("calls", "emu", "a, b")

GOOD = [
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_ALONE},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, **BOTH},
    {"emu/a.c": A_CALLS_B, "emu/b.h": B_INLINE, **BOTH},
    {"emu/a.c": A_NAMES_TABLE, "emu/b.c": B_TABLE, "emu/b.h": "extern const struct ops b_ops;\n", **BOTH},
    {"emu/a.c": A_CALLS_B, "emu/b.c": A_OF_ITS_OWN + B_CALLS_A},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_HAS_VARIABLE_A},
    # A table that is handed over at run time.
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_MEMBER_A},
    # The two graphs are not joined, and x.c and x.h are one node.
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_ALONE, "emu/b.h": B_INCLUDES_A, "emu/a.h": ""},
    {"emu/a.c": B_INCLUDES_A, "emu/a.h": ""},
    {"emu/a.h": A_INCLUDES_B, "emu/b.c": B_INCLUDES_A, "emu/b.h": "", **document("includes", "emu", "a, b")},
]
BAD = [
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A},
    {"emu/a.c": A_CALLS_B, "emu/b.h": B_INLINE},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_STATIC_TABLE},
    {"emu/a.c": A_NAMES_TABLE, "emu/b.c": B_TABLE, "emu/b.h": "extern const struct ops b_ops;\n"},
    {"emu/a.h": A_INCLUDES_B, "emu/b.h": B_INCLUDES_A},
    # x.c and x.h are one node.
    {"emu/a.h": A_INCLUDES_B, "emu/b.c": B_INCLUDES_A, "emu/b.h": ""},
    {"emu/a.h": "", "emu/a.c": '#include "b.h"\n', "emu/b.c": '#include "a.h"\n', "emu/b.h": ""},
    # The list and the count differ: no circle, more or fewer members, the other graph, no reason, no such room.
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_ALONE, **BOTH},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, **document("calls", "emu", "a, b, c")},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, **document("calls", "emu", "a")},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, **document("includes", "emu", "a, b")},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, DOCUMENT: "- circle of calls inside `emu`: a, b\n"},
    {"emu/a.c": A_CALLS_B, "emu/b.c": B_CALLS_A, **document("calls", "extra", "a, b")},
]
