#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library exports exactly the symbols of its list, each under its nodes, the newest as the default.

usage: check_symbols.py LIBRARY LIST [IMPORTS]

IMPORTS: what others ask of it; each must be there.
"""
import importlib.util
import os
import subprocess
import sys


def load_reader():
    """The list is read as the build reads it."""
    path = os.path.join(os.path.dirname(__file__), "../../lib/abi/generate_abi.py")
    spec = importlib.util.spec_from_file_location("generate_abi", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {f[2] for f in map(str.split, out.splitlines()) if f[1] != "A"}


def main():
    reader = load_reader()
    rows = reader.read(sys.argv[2])
    default = reader.newest(rows)
    want = {"%s@%s%s" % (s, "@" if default[s] == n else "", n) for n, s, _ in rows}
    have = exported(sys.argv[1])
    complaints = ["missing: " + s for s in sorted(want - have)] + ["not in the list: " + s for s in sorted(have - want)]
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="ascii") as f:
            for node, symbol in (line.split() for line in f if not line.startswith("#")):
                if not {"%s@%s" % (symbol, node), "%s@@%s" % (symbol, node)} & have:
                    complaints.append("imported and missing: %s@%s" % (symbol, node))
    print("\n".join(complaints) or "%d symbols agree" % len(have))
    sys.exit(bool(complaints))


main()
