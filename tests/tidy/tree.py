# SPDX-License-Identifier: MIT
"""The source tree as the tidy checks see it: paths, texts, and texts with comments and strings blanked."""

import os
import re
import shutil
import subprocess

SKIPPED_DIRS = {".git", "__pycache__"}


class Tree:
    """Paths (relative, with /) and their texts. Made from a folder, or from a dict for the proofs."""

    def __init__(self, texts, root=None):
        self.texts = texts
        self.root = root

    @staticmethod
    def from_folder(root):
        return Tree({p: read(os.path.join(root, p)) for p in list_paths(root)}, root)

    def sources(self, suffixes=(".c", ".h"), under=""):
        for path in sorted(self.texts):
            if path.endswith(tuple(suffixes)) and path.startswith(under):
                yield path, self.texts[path]

    def write_to(self, folder):
        """Lay the texts out on disk, for checks that call a compiler."""
        for path, text in self.texts.items():
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        return Tree(self.texts, folder)


def list_paths(root):
    """What git tracks or would track; everything, where this is no git tree (a release archive)."""
    if not shutil.which("git"):
        return walk(root)
    git = ["git", "-c", "safe.directory=*", "-C", root]
    listed = subprocess.run(git + ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, check=False)
    top = subprocess.run(git + ["rev-parse", "--show-toplevel"], capture_output=True, check=False)
    if listed.returncode == 0 and os.path.realpath(top.stdout.decode().strip()) == \
            os.path.realpath(root):
        names = listed.stdout.decode().split("\0")
        return [n for n in names if n and os.path.isfile(os.path.join(root, n))]
    return walk(root)


def walk(root):
    """All files but those of git and of build folders."""
    found = []
    for folder, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in SKIPPED_DIRS and
                   not os.path.exists(os.path.join(folder, d, "build.ninja"))]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return found


def read(path):
    """The text of a file; a binary one (a capture) is empty."""
    with open(path, "rb") as f:
        data = f.read()
    if b"\0" in data:
        return ""
    return data.decode("utf-8", "replace")


BLANKED = re.compile(r"""
    //(?:[^\n\\]|\\.)*            # a line comment
  | /\*.*?\*/                     # a block comment
  | "(?:[^"\\\n]|\\.)*"           # a string
  | '(?:[^'\\\n]|\\.)*'           # a character
""", re.VERBOSE | re.DOTALL)


def blank(match):
    """Keep the line structure and the quotes' presence, drop what they hold."""
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """C text with comments and the insides of strings blanked; lines keep their numbers."""
    return BLANKED.sub(blank, text)


def without_directives(text):
    """Blank preprocessor lines and every branch after the first one of an #if, so that braces pair up."""
    out, dead, continued = [], [], False
    for line in text.split("\n"):
        stripped = line.lstrip()
        directive = continued or stripped.startswith("#")
        if not continued and stripped.startswith("#"):
            word = stripped[1:].lstrip()
            if word.startswith("if"):
                dead.append(False)
            elif word.startswith(("elif", "else")) and dead:
                dead[-1] = True
            elif word.startswith("endif") and dead:
                dead.pop()
        continued = directive and line.rstrip().endswith("\\")
        out.append("" if directive or any(dead) else line)
    return "\n".join(out)


def lines_matching(text, pattern):
    for number, line in enumerate(text.split("\n"), 1):
        found = pattern.search(line)
        if found:
            yield number, found
