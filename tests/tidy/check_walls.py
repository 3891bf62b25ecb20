# SPDX-License-Identifier: MIT
"""No file, no function and no line of a comment past its wall; the medians are reported, so that a trend can be seen."""

import re

from functions import functions
from tree import lines_matching

FILE_WALL = 700
FUNCTION_WALL = 70
# The columns of .clang-format, which leaves comments alone. Tables of code may be wider.
COMMENT_WALL = 100
COMMENT_LINE = re.compile(r"^\s*(/\*|\*|//).*$")


def check(tree, context):
    complaints, files, lengths = [], [], []
    for path, text in tree.sources((".c", ".h", ".py")):
        count = text.count("\n")
        if count > FILE_WALL:
            complaints.append(f"{path}: {count} lines, the wall is {FILE_WALL}")
        if path.endswith(".py"):
            continue
        if path.endswith(".c"):
            files.append(count)
        for number, found in lines_matching(text, COMMENT_LINE):
            width = len(found.group().expandtabs(8))
            if width > COMMENT_WALL:
                complaints.append(f"{path}:{number}: a comment of {width} columns, the wall is {COMMENT_WALL}")
        for function in functions(text):
            length = function.last - function.first + 1
            lengths.append(length)
            if length > FUNCTION_WALL:
                complaints.append(f"{path}:{function.first}: {function.name}() is {length} lines, "
                                  f"the wall is {FUNCTION_WALL}")
    context.report(f".c files: {len(files)}, {spread(files)}")
    context.report(f"functions: {len(lengths)}, {spread(lengths)}")
    return complaints


def spread(values):
    if not values:
        return "none"
    ordered = sorted(values)
    return (f"median {ordered[len(ordered) // 2]}, "
            f"90% within {ordered[min(len(ordered) * 9 // 10, len(ordered) - 1)]}, "
            f"longest {ordered[-1]} lines")


def function_of(length, body="\tx();\n"):
    """A function of exactly so many lines."""
    return "int f(void)\n{\n" + body * (length - 3) + "}\n"


GOOD = [
    {"emu/a.c": function_of(FUNCTION_WALL) + function_of(FUNCTION_WALL)},
    {"emu/a.c": "\n" * FILE_WALL},
    {"emu/a.c": "struct s {\n" + "\tint x;\n" * 100 + "};\n"},
    {"emu/a.c": "static const int t[] = {\n" + "\t1,\n" * 100 + "};\n"},
    {"emu/a.c": "/*" + "x" * 98 + "\n * x */\nint table = { " + "1, " * 50 + "};\n"},
]
BAD = [
    {"emu/a.c": function_of(FUNCTION_WALL + 1)},
    {"emu/a.h": "static inline " + function_of(FUNCTION_WALL + 1)},
    {"emu/a.c": function_of(FUNCTION_WALL + 1, '\tx("}"); /* } */\n')},
    {"emu/a.c": function_of(FUNCTION_WALL + 1, "\tif (x) { y(); }\n")},
    {"emu/a.c": "struct s {\n\tint x;\n};\nint g;\n" + function_of(FUNCTION_WALL + 1)},
    {"emu/a.c": "#ifdef A\nint h(void) {\n#else\nint h(int x) {\n#endif\n}\n" +
                function_of(FUNCTION_WALL + 1)},
    {"tests/unit/a.c": "START_TEST(t)\n{\n" + "\tx();\n" * 70 + "}\nEND_TEST\n"},
    {"tests/unit/a.c": "\n" * (FILE_WALL + 1)},
    {"emu/a.c": "/*" + "x" * 99 + "\n * x */\n"},
    {"emu/a.c": "\t/* " + "x" * 90 + " */\n"},
]
