# SPDX-License-Identifier: MIT
"""clang-format would change nothing. Debian 12's version: others lay some lines out differently."""

import os
import re
import shutil
import subprocess
import tempfile

VERSION = "14"


def check(tree, context):
    tool = shutil.which("clang-format-" + VERSION) or shutil.which("clang-format")
    if not tool:
        context.skip("clang-format is not installed")
    found = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    if not re.search(rf"version {VERSION}\.", found):
        context.skip(f"clang-format is not version {VERSION}: {found.strip()}")
    if tree.root is None:
        with tempfile.TemporaryDirectory() as folder:
            tree.texts[".clang-format"] = context.clang_format
            return run(tool, tree.write_to(folder))
    return run(tool, tree)


def run(tool, tree):
    paths = [path for path, _ in tree.sources()]
    done = subprocess.run([tool, "--dry-run", "-Werror", "--style=file"] + paths, cwd=tree.root,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    lines = [line for line in done.stderr.split("\n") if "error:" in line]
    files = {os.path.relpath(line.split(":")[0], ".") for line in lines}
    return lines[:20] + [f"{len(files)} files: clang-format -i " + " ".join(sorted(files))]


GOOD = [{"emu/a.c": "int f(int x)\n{\n\tif (x)\n\t\treturn 1;\n\treturn 0;\n}\n"}]
BAD = [
    {"emu/a.c": "int f(int x) { return x; }\n"},
    {"emu/a.c": "int f(int x)\n{\n    return x;\n}\n"},
]
