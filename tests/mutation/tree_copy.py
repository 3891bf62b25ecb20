# SPDX-License-Identifier: MIT
"""A copy of the tree to put faults into, changes that are not committed included."""

import filecmp
import shutil
import subprocess


def copy_tree(root, to):
    """What is there already keeps its time, for the build's sake."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                           capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        was = root / name
        if was.is_file() and not ((to / name).is_file() and filecmp.cmp(was, to / name, shallow=False)):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(was, to / name)
