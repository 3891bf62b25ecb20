#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a list of symbols (see symbols.tsv) make a linker version script and the functions that refuse.

usage: generate_abi.py LIST MAP STUBS.c [--without FEATURE]

FEATURE: the symbols of this kind are not written in a .c file, and fail.
"""
import sys

PRIVATE = ["34", "57", "59", "64", "65"]

WRITTEN = ("code", "rsockets")  # in a .c file
BODIES = {
    "errno": ("int", "return errno = EOPNOTSUPP;"),
    "fail": ("long", "errno = EOPNOTSUPP;\n\treturn -1;"),
    "null": ("void *", "errno = EOPNOTSUPP;\n\treturn NULL;"),
    "zero": ("uint64_t", "return 0;"),
    "void": ("void", ""),
    "old-fail": ("long", "errno = ENOSYS;\n\treturn -1;"),
    "old-null": ("void *", "errno = ENOSYS;\n\treturn NULL;"),
}


def read(path):
    """The list as (node, symbol, kind), its private part once for each private node."""
    rows = []
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            node, symbol, kind = line.rstrip("\n").split("\t")
            if node != "PRIVATE":
                rows.append((node, symbol, kind))
                continue
            for number in PRIVATE:
                rows.append(("IBVERBS_PRIVATE_" + number, symbol.replace("_NN", "_" + number), kind))
    return rows


def newest(rows):
    """The node whose version of a symbol is the default: the last one that lists it."""
    return {symbol: node for node, symbol, _ in rows}


def write_map(rows, path):
    default = newest(rows)
    nodes = list(dict.fromkeys(node for node, _, _ in rows))
    parent = ""
    with open(path, "w", encoding="ascii") as f:
        for node in nodes:
            names = [s for n, s, _ in rows if n == node and default[s] == node]
            f.write(node + " {\n")
            if names:
                f.write("\tglobal:\n" + "".join("\t\t%s;\n" % s for s in names))
            # In the last node: in an older one it would also hide what only .symver puts there.
            if node == nodes[-1]:
                f.write("\tlocal: *;\n")
            private = "PRIVATE" in node
            f.write("}%s;\n\n" % ("" if private else parent))
            if not private:
                parent = " " + node


def write_stubs(rows, path, without=()):
    default = newest(rows)
    made = set()
    with open(path, "w", encoding="ascii") as f:
        f.write("/* Made by generate_abi.py: functions that refuse, each under all its version nodes. */\n")
        f.write("#include <errno.h>\n#include <stddef.h>\n#include <stdint.h>\n\n")
        for node, symbol, kind in rows:
            is_default = default[symbol] == node
            kind = "fail" if kind in without else kind
            if kind in WRITTEN:
                continue
            target = symbol if is_default else "refuse_" + kind.replace("-", "_") + "_" + symbol
            if target not in made:
                made.add(target)
                result, body = BODIES[kind]
                f.write('__attribute__((visibility("default"))) %s %s(void);\n' % (result, target))
                f.write("%s %s(void)\n{\n\t%s\n}\n" % (result, target, body))
            if not is_default:
                f.write('__asm__(".symver %s, %s@%s");\n' % (target, symbol, node))


def main():
    rows = read(sys.argv[1])
    write_map(rows, sys.argv[2])
    write_stubs(rows, sys.argv[3], sys.argv[5:])


if __name__ == "__main__":
    main()
