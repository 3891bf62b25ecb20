#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One tidy check over the tree: first proven to fail on its bad samples, then run. Exit 0, 1, or 77 for a skip.

A check is a module check_NAME.py with check(tree, context) -> complaints, and GOOD and BAD: sample trees in memory.
usage: tidy.py NAME --root DIR [--cc 'gcc'] [--nm nm] [--sanitize none] [--cflags '...'] [--archive FILE]..."""

import argparse
import importlib
import os
import shlex
import sys

from tree import Tree, read


class Skip(Exception):
    pass


class Context:
    """What the build tells a check, and what a check tells the person."""

    def __init__(self, options):
        self.cc = shlex.split(options.cc)
        self.cflags = shlex.split(options.cflags)
        self.nm = options.nm
        self.archives = options.archive
        self.sanitized = options.sanitize != "none"
        self.clang_format = read(os.path.join(options.root, ".clang-format"))
        self.quiet = True

    def report(self, line):
        if not self.quiet:
            print(line)

    def skip(self, why):
        raise Skip(why)


def prove(check, context):
    """A check that cannot fail is worthless: every bad sample must be found, every good one left alone."""
    flaws = []
    for sample in check.GOOD:
        found = check.check(Tree(dict(sample)), context)
        if found:
            flaws.append(f"a good sample is refused: {sample}: {found}")
    for sample in check.BAD:
        if not check.check(Tree(dict(sample)), context):
            flaws.append(f"a bad sample passes: {sample}")
    return flaws


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--root", required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cflags", default="")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--sanitize", default="none")
    parser.add_argument("--archive", action="append", default=[])
    return parser.parse_args()


def main():
    options = parse_arguments()
    check = importlib.import_module("check_" + options.name)
    context = Context(options)
    try:
        flaws = prove(check, context)
        if flaws:
            print("\n".join(flaws))
            return 1
        print(f"proven on {len(check.BAD)} bad and {len(check.GOOD)} good samples")
        context.quiet = False
        complaints = list(check.check(Tree.from_folder(options.root), context))
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    print("\n".join(complaints) if complaints else "clean")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
