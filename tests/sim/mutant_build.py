# SPDX-License-Identifier: MIT
"""A copy of the tree to put faults into, and its build folder."""

import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mutation"))
from tree_copy import copy_tree  # noqa: E402

# Compiling takes longer than the tests.
OPTIONS = ["-Doptimization=1", "-Ddebug=false"]
# Meson writes these for one folder.
OF_ONE_FOLDER = ["build.ninja", "compile_commands.json", "meson-info", "meson-logs", "meson-private"]


class BuildFailed(Exception):
    """With the compiler's output."""


def output_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Build:
    """like: another one, already built, whose objects this one takes."""

    def __init__(self, root, folder, like=None):
        self.tree, self.folder = folder / "tree", folder / "build"
        is_new = not (self.folder / "build.ninja").exists()
        self.tree.mkdir(parents=True, exist_ok=True)
        if is_new and like:
            shutil.copytree(like.tree, self.tree, dirs_exist_ok=True)  # with the times of the files
        copy_tree(root, self.tree)
        if is_new:
            output_of(["meson", "setup", *OPTIONS, self.folder, self.tree])
            if like:
                self.take_objects(like.folder)
        else:
            self.make(["build.ninja"])  # a test may be new
        self.depends = None

    def take_objects(self, built):
        """Ninja compares times and commands: what names the other folder in its command is built again."""
        for folder, names, files in os.walk(built):
            names[:] = [name for name in names if name not in OF_ONE_FOLDER]
            to = self.folder / pathlib.Path(folder).relative_to(built)
            to.mkdir(exist_ok=True)
            for name in files:
                path, own = pathlib.Path(folder, name), to / name
                if name in OF_ONE_FOLDER or path.is_symlink():
                    continue
                if not own.exists():
                    shutil.copy2(path, own)
                elif filecmp.cmp(path, own, shallow=False):
                    shutil.copystat(path, own)

    def make(self, targets, jobs=1):
        made = subprocess.run(["ninja", "-C", self.folder, f"-j{jobs}", *targets], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise BuildFailed(made.stdout + made.stderr)

    def programs(self):
        listed = output_of(["ninja", "-C", self.folder, "-t", "targets", "all"]).splitlines()
        return sorted(line.split(":")[0] for line in listed if ": c_LINKER" in line)

    def needs(self, names):
        """The files that meson's tests of these names need."""
        if self.depends is None:
            told = json.loads(output_of(["meson", "introspect", "--tests", "--targets", self.folder]))
            files = {target["id"]: target["filename"] for target in told["targets"]}
            self.depends = {test["name"]: {os.path.relpath(file, self.folder) for target in test["depends"] for file in files[target]}
                            for test in told["tests"]}
        return sorted(set().union(*(self.depends[name] for name in names)))
