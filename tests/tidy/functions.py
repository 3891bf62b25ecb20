# SPDX-License-Identifier: MIT
"""Where each C function begins and ends. A brace scanner: enough for code that clang-format has laid out."""

import re
from collections import namedtuple

from tree import code_only, without_directives

Function = namedtuple("Function", "name first last")

TOKEN = re.compile(r"[{};]|\n")
NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")


def functions(text):
    """Every function definition, from the first line of its signature to its closing brace."""
    code = without_directives(code_only(text))
    found, depth, line = [], 0, 1
    head_start, opened = 0, None
    for token in TOKEN.finditer(code):
        mark = token.group(0)
        if mark == "\n":
            line += 1
        elif mark == ";" and depth == 0:
            head_start = token.end()
        elif mark == "{":
            if depth == 0:
                opened = opened_function(code, head_start, token.start(), line)
            depth += 1
        elif mark == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                if opened:
                    found.append(Function(opened[0], opened[1], line))
                opened, head_start = None, token.end()
    return found


def opened_function(code, start, brace, line):
    """The name and first line of the function whose brace this is; None for a struct, an enum, an initialiser."""
    head = code[start:brace]
    if not head.rstrip().endswith(")") or "=" in head:
        return None
    name = NAME.search(head)
    if not name:
        return None
    text = head.lstrip()
    return name.group(1), line - text.count("\n")
