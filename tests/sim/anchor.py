# SPDX-License-Identifier: MIT
"""Where a deliberate fault goes: a text inside a function, however its lines are broken and indented."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tidy"))
from functions import functions  # noqa: E402


def pattern(text):
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


def ranges(text, function):
    """Where functions of this name stand in a file, as (start, end); None: the whole file."""
    if function is None:
        return [(0, len(text))]
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return [(starts[f.first - 1], min(starts[f.last], len(text))) for f in functions(text) if f.name == function]


def matches(text, function, was):
    """The places of a text, as (start, end)."""
    return [found.span() for start, end in ranges(text, function) for found in pattern(was).finditer(text, start, end)]


def put(text, function, was, now):
    """The file with the fault. None: the text stands there not once."""
    found = matches(text, function, was)
    if len(found) != 1:
        return None
    start, end = found[0]
    return text[:start] + now.strip() + text[end:]
