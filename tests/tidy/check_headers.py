# SPDX-License-Identifier: MIT
"""Every header has a guard and compiles alone, with the build's own compiler, without a warning. Headers that a source file
includes before anything else are left out: the build compiles them alone."""

import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from tree import code_only

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         "-Wno-unknown-warning-option", "-fsyntax-only", "-x", "c"]
GUARD = re.compile(r"\A\s*#ifndef (\w+)\n#define \1\n.*#endif\s*\Z", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDED = re.compile(r'#include "([^"]+)"')


def check(tree, context):
    if tree.root is None:
        with tempfile.TemporaryDirectory() as folder:
            return check(tree.write_to(folder), context)
    headers = [path for path, _ in tree.sources((".h",)) if not path.startswith("examples/")]
    unguarded = [f"{path}: has no guard" for path in headers if not GUARD.search(code_only(tree.texts[path]))]
    proven = {included_first(tree, path, text) for path, text in tree.sources((".c",))}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = pool.map(lambda path: compile_alone(tree.root, path, context), (path for path in headers if path not in proven))
    return unguarded + [complaint for complaint in answers if complaint]


def included_first(tree, path, text):
    """The header with which a source file begins, or None."""
    lines = (line.strip() for line in COMMENT.sub("", text).split("\n"))
    found = INCLUDED.match(next((line for line in lines if line), ""))
    if not found:
        return None
    beside = os.path.normpath(os.path.join(os.path.dirname(path), found.group(1)))
    return beside if beside in tree.texts else found.group(1)


def compile_alone(root, path, context):
    unit = f'#include "{path}"\n'
    own = os.path.join(root, os.path.dirname(path))
    command = context.cc + FLAGS + ["-I", root, "-I", own] + context.cflags + ["-"]
    done = subprocess.run(command, input=unit, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode == 0:
        return None
    return f"{path}: does not compile alone:\n    " + "\n    ".join(done.stderr.split("\n")[:6])


GUARDED = "#ifndef A\n#define A\n%s#endif\n"
GOOD = [{"emu/a.h": GUARDED % "#include <stdint.h>\nstruct a { uint8_t x; };\n"},
        {"emu/a.h": GUARDED % "int f(struct b *x);\n", "emu/a.c": '/* The build fails. */\n\n#include "a.h"\n'}]
BAD = [
    {"emu/a.h": GUARDED % "struct a { uint8_t x; };\n"},
    {"emu/a.h": "struct a { int x; };\n"},
    {"emu/a.h": GUARDED % "int f(struct b *x);\n"},
    {"emu/a.h": GUARDED % "int f(struct b *x);\n", "emu/a.c": '#include <stdint.h>\n#include "a.h"\n'},
    {"emu/a.h": GUARDED % "struct a { uint8_t x; };\n", "emu/a.c": '#define uint8_t char\n#include "a.h"\n'},
]
