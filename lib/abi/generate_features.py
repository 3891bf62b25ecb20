#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From features.tsv make docs/VERBS.md, or the table that C programs include.

usage: generate_features.py FEATURES LIBMLX5_SYMBOLS OUT.md|OUT.inc [--without PART...]

--without: parts that the build leaves out. Their functions are refused.
"""
import fnmatch
import sys

STATES = ("works", "partly", "refused")
HEAD = """# Verbs

What each function of `libibverbs.so.1` and `libmlx5.so.1` does. `rxe_dm show --features` prints the same table. This file is made from
[lib/abi/features.tsv](../lib/abi/features.tsv) by `lib/abi/generate_features.py`; change that table, and see [DEVIATIONS.md](DEVIATIONS.md)
for differences in detail.

- **works**: as its manual page says.
- **partly**: the note says how far; the rest fails with EOPNOTSUPP.
- **refused**: fails with EOPNOTSUPP; the note says why.

Not in this table: the ABI before 1.1, the interface of providers (IBVERBS_PRIVATE_*), and functions that only they call.
"""


def exported(path):
    """Functions of the list of symbols. A leading underscore belongs to the inline function around the symbol."""
    names = []
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                names.append(line.split("\t")[1].lstrip("_"))
    return list(dict.fromkeys(names))


def read(path, mlx5_symbols, without=()):
    """[(title, [(library, function, state, note)])], patterns resolved."""
    sections, seen = [], set()
    with open(path, encoding="ascii") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("= "):
                sections.append((line[2:], []))
            elif line and not line.startswith("#"):
                library, name, state, note, *part = line.split("\t")
                if set(part) & set(without):
                    state, note = "refused", "this build leaves it out"
                if state not in STATES:
                    raise SystemExit(f"{path}:{number}: no such state: {state}")
                names = [n for n in mlx5_symbols if fnmatch.fnmatchcase(n, name) and n not in seen] if "*" in name else [name]
                for one in names:
                    if one in seen:
                        raise SystemExit(f"{path}:{number}: twice: {one}")
                    seen.add(one)
                    sections[-1][1].append((library, one, state, note))
    return sections


def markdown(sections):
    """Functions in a row that have state and note in common share a line."""
    text = HEAD
    for title, rows in sections:
        text += f"\n## {title}\n\n| Function | State | Note |\n|---|---|---|\n"
        groups = []
        for _, name, state, note in rows:
            if groups and groups[-1][1:] == (state, note):
                groups[-1][0].append(name)
            else:
                groups.append(([name], state, note))
        for names, state, note in groups:
            text += f"| {', '.join(f'`{n}`' for n in names)} | {state} | {note} |\n"
    return text


def include(sections):
    text = "/* Made by generate_features.py. */\n"
    for title, rows in sections:
        text += f'SECTION("{title}")\n'
        for library, name, state, note in rows:
            plain = note.replace("`", "").replace('"', '\\"')
            text += f'FEATURE({library}, {name}, {state.upper()}, "{plain}")\n'
    return text


def main():
    sections = read(sys.argv[1], exported(sys.argv[2]), sys.argv[5:])
    with open(sys.argv[3], "w", encoding="ascii") as f:
        f.write(markdown(sections) if sys.argv[3].endswith(".md") else include(sections))


if __name__ == "__main__":
    main()
