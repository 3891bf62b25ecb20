# SPDX-License-Identifier: MIT
"""Every header compiles alone, with the build's own compiler, without a warning."""

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         "-Wno-unknown-warning-option", "-fsyntax-only", "-x", "c"]


def check(tree, context):
    if tree.root is None:
        with tempfile.TemporaryDirectory() as folder:
            return check(tree.write_to(folder), context)
    headers = [path for path, _ in tree.sources((".h",)) if not path.startswith("examples/")]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = pool.map(lambda path: compile_alone(tree.root, path, context), headers)
    return [complaint for complaint in answers if complaint]


def compile_alone(root, path, context):
    # The same header twice: a missing guard shows as a redefinition.
    unit = f'#include "{path}"\n#include "{path}"\n'
    own = os.path.join(root, os.path.dirname(path))
    command = context.cc + FLAGS + ["-I", root, "-I", own] + context.cflags + ["-"]
    done = subprocess.run(command, input=unit, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode == 0:
        return None
    return f"{path}: does not compile alone:\n    " + "\n    ".join(done.stderr.split("\n")[:6])


GOOD = [{"emu/a.h": "#ifndef A\n#define A\n#include <stdint.h>\nstruct a { uint8_t x; };\n#endif\n"}]
BAD = [
    {"emu/a.h": "#ifndef A\n#define A\nstruct a { uint8_t x; };\n#endif\n"},
    {"emu/a.h": "struct a { int x; };\n"},
    {"emu/a.h": "#ifndef A\n#define A\nint f(struct b *x);\n#endif\n"},
]
