#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/CHECKS.md, made of the table of checks (lib/findings/table.c) and the mistakes in this folder.

usage: page.py RXE_DM PAGE [--write]    compares the page, or writes it
"""
import json
import os
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from cases_check import MISTAKES  # noqa: E402

HEAD = """# Checks

`rxe_dm run --check PROGRAM` reports what a program does wrong with verbs although it works on this device. A finding is printed
when it happens, with the stacks of the calls that lead to it, and counted when it happens again:

    rxe_dm run --check ./your_program
    rxe_dm run --check=mem,-RXE-MEM-002 ./your_program       # groups and ids; a minus leaves one out
    rxe_dm run --check --check-output findings.sarif ./your_program
    rxe_dm show --findings                                   # later, also of a program that was killed
    rxe_dm show --checks                                     # this list

With findings the exit status is 66, or that of `--check-exit`; else it is the program's. A note is no such finding: what it says is
not wrong by the letter of the specification. `--check-suppressions FILE` names what is
not reported, a line each: `id:RXE-MEM-002`, `func:NAME` (a function in any of its stacks) or `obj:libucp` (an object file).
`man rxe_dm` describes the options. Functions and lines need a build with elfutils' libdw, and a program built with `-g`.

Each wrong program below is a file of `tests/client/mistakes`, where `right` selects its correction.

| id | name | what is wrong |
|---|---|---|
"""


def program(name):
    """The source of a mistake without its includes."""
    with open(os.path.join(HERE, name + ".c"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("#include")) + 1
    return textwrap.indent("\n".join(lines[start:]).strip("\n").expandtabs(8), "    ")


def wrapped(text):
    return "\n".join(textwrap.wrap(text, width=130, break_long_words=False, break_on_hyphens=False))


def page(rows):
    by_id = {}
    for name, expected in MISTAKES.items():
        by_id.setdefault(expected[0], []).append(name)
    text = HEAD + "".join(f"| [{r['id']}](#{r['id'].lower()}) | {r['name']}{' (note)' if r['level'] == 'note' else ''} | {r['sentence']} |\n" for r in rows)
    for row in rows:
        text += f"\n## {row['id']}\n\n" + wrapped(f"`{row['name']}`{', a note' if row['level'] == 'note' else ''}: {row['sentence']}") + "\n\n"
        text += wrapped(f"Specification: {row['specification']}.") + "\n\n" + wrapped(f"Remedy: {row['remedy']}") + "\n"
        for name in by_id.get(row["id"], []):
            text += f"\n`tests/client/mistakes/{name}.c`:\n\n{program(name)}\n"
    return text


def main():
    command, path = sys.argv[1:3]
    listed = subprocess.run([command, "show", "--checks", "--json"], check=True, capture_output=True, text=True).stdout
    text = page(json.loads(listed))
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        if f.read() == text:
            return 0
    print(f"{path} is not what {__file__} makes of the table and the mistakes: run it with --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
