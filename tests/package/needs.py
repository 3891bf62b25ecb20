#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`.packaging/build` and `examples/setup` on a machine that lacks what they need: all is named or installed at once, and no half
file stays.

The machine is this one's PATH without the tools, with commands of the test in the place of dpkg-query, apt-get and id.

usage: needs.py SOURCE-ROOT"""

import os
import re
import subprocess
import sys
import tempfile

TOOLS = {"git", "xz", "dpkg-buildpackage", "rpmbuild", "podman", "docker", "sudo"}
# What the test puts in the place of a command: nothing is installed, or everything is; the calls of apt-get are written down.
ABSENT = "#!/bin/sh\nexit 1\n"
PRESENT = "#!/bin/sh\necho installed\n"
APT_GET = '#!/bin/sh\necho "$*" >>"$APT_CALLS"\ncase $* in *install*) exit 100 ;; esac\n'
BROKEN_XZ = "#!/bin/sh\nhead -c 100\nexit 1\n"


class Machine:
    """commands: the text of commands that are other ones than here, or None for one that is missing."""

    def __init__(self, root, folder, commands):
        self.root = root
        self.path = os.path.join(folder, "bin")
        self.results = os.path.join(folder, "results")
        self.calls = os.path.join(folder, "calls")
        os.mkdir(self.path)
        hidden = TOOLS | set(commands)
        for where in ("/usr/bin", "/bin"):
            for name in set(os.listdir(where)) - hidden - set(os.listdir(self.path)):
                os.symlink(os.path.join(where, name), os.path.join(self.path, name))
        for name, text in commands.items():
            if text is not None:
                with open(os.path.join(self.path, name), "w", encoding="ascii") as f:
                    f.write(text)
                os.chmod(f.name, 0o755)

    def build(self, *args):
        env = {"PATH": self.path, "RXE_DM_PACKAGES": self.results, "APT_CALLS": self.calls, "LC_ALL": "C.UTF-8"}
        return subprocess.run(["/bin/bash", os.path.join(self.root, ".packaging/build"), *args], env=env, capture_output=True,
                              text=True, check=False, timeout=120)

    def setup(self, *args):
        env = {"PATH": self.path, "APT_CALLS": self.calls, "LC_ALL": "C.UTF-8"}
        return subprocess.run(["/bin/bash", os.path.join(self.root, "examples/setup"), *args], env=env, capture_output=True,
                              text=True, check=False, timeout=120)

    def left(self):
        return os.listdir(self.results) if os.path.isdir(self.results) else []


def build_depends(root):
    """The names in the Build-Depends of the Debian package."""
    with open(os.path.join(root, ".packaging/debian/control"), encoding="ascii") as f:
        field = re.search(r"^Build-Depends:(.*(?:\n .*)*)", f.read(), re.M)[1]
    names = {re.match(r"[a-z0-9.+-]+", part.strip())[0] for part in field.split(",")}
    return names - {"debhelper-compat"} | {"debhelper"}


def needed(root):
    return build_depends(root) | {"xz-utils", "build-essential"} | ({"git"} if os.path.exists(os.path.join(root, ".git")) else set())


def user(id_number):
    return f"#!/bin/sh\necho {id_number}\n"


def says(text, names):
    lacks = sorted(name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))
    assert not lacks, f"{lacks} is not named in: {text}"


def refused(machine, done):
    assert done.returncode != 0, "it ended well"
    assert "command not found" not in done.stderr, done.stderr
    assert not machine.left(), f"left: {machine.left()}"


def ordinary_user(root, folder):
    machine = Machine(root, folder, {"dpkg-query": ABSENT, "id": user(1000)})
    done = machine.build("deb", "-b")
    refused(machine, done)
    says(next(line for line in done.stderr.split("\n") if "apt-get install" in line), needed(root))


def as_root(root, folder):
    machine = Machine(root, folder, {"dpkg-query": ABSENT, "apt-get": APT_GET, "id": user(0)})
    done = machine.build("deb", "-b")
    refused(machine, done)
    with open(machine.calls, encoding="ascii") as f:
        calls = [line for line in f if " install " in line]
    assert len(calls) == 1, calls
    says(calls[0], needed(root))


def no_check(root, folder):
    """The profile without tests needs no test library."""
    machine = Machine(root, folder, {"dpkg-query": ABSENT, "id": user(1000)})
    done = machine.build("deb", "-b", "-Pnocheck")
    refused(machine, done)
    says(done.stderr, needed(root) - {"check"})
    assert not re.search(r"install.* check( |$)", done.stderr), done.stderr


def other_release(root, folder):
    """A release that lacks a package which can be spared: the others are installed."""
    knows = '#!/bin/sh\ncase "$*" in *tshark) exit 100 ;; esac\n'
    machine = Machine(root, folder, {"dpkg-query": ABSENT, "apt-get": APT_GET.replace("100", "0"), "apt-cache": knows, "id": user(0)})
    done = machine.setup("run")
    assert done.returncode == 0 and "no package tshark" in done.stdout, f"{done.returncode}: {done.stdout}{done.stderr}"
    with open(machine.calls, encoding="ascii") as f:
        call = next(line for line in f if " install " in line)
    says(call, ["gcc", "ibverbs-utils", "iproute2"])
    assert "tshark" not in call, call


def other_system(root, folder):
    """A system without dpkg: the commands are named."""
    for kind, names in {"tarball": ["xz"], "rpm": ["xz", "rpmbuild"], "container": ["xz", "podman or docker"]}.items():
        place = os.path.join(folder, kind)
        os.mkdir(place)
        machine = Machine(root, place, {"dpkg-query": None})
        done = machine.build(kind)
        refused(machine, done)
        says(done.stderr.rstrip("\n").split("\n")[-1], names)


def broken(root, folder):
    """The compressor fails in the middle."""
    git = {} if not os.path.exists(os.path.join(root, ".git")) else {"git": "#!/bin/sh\nhead -c 100000 /dev/zero\n"}
    machine = Machine(root, folder, {"dpkg-query": PRESENT, "xz": BROKEN_XZ, **git})
    refused(machine, machine.build("tarball"))


def main():
    root = os.path.realpath(sys.argv[1])
    failures = 0
    for test in (ordinary_user, as_root, no_check, other_release, other_system, broken):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(root, folder)
            except AssertionError as e:
                failures += 1
                print(f"{test.__name__}: {e}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
