#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The packages have what 'meson install' installs: each file is in one Debian package and one RPM package, and no line of theirs
names nothing.

usage: files.py BUILD SOURCE-ROOT"""

import fnmatch
import json
import os
import re
import subprocess
import sys

# The folders of a prefix, as Debian's lines and RPM's macros name them.
FOLDERS = {"_bindir": "bin", "_libdir": "lib", "_includedir": "include", "_datadir": "share",
           "_mandir": "share/man"}


def installed(build):
    """Files and links, relative to the prefix, with libraries in lib."""
    def asked(what):
        done = subprocess.run(["meson", "introspect", what, build], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    prefix = next(option["value"] for option in asked("--buildoptions") if option["name"] == "prefix")
    return {os.path.relpath(path, prefix) for path in asked("--installed").values()}


def library_links(paths):
    """The names by which linkers know a library with a version: libx.so.1.2.3 is also libx.so.1 and libx.so."""
    links = set()
    for path in paths:
        found = re.fullmatch(r"(.*\.so)(\.\d+)\.\d+\.\d+", path)
        if found:
            links |= {found[1], found[1] + found[2]}
    return links


def debian_lines(root, package):
    with open(os.path.join(root, ".packaging/debian", package + ".install"), encoding="ascii") as f:
        for line in f:
            yield line.split()[0].removeprefix("usr/").replace("lib/*/", "lib/")


def rpm_lines(root, section):
    with open(os.path.join(root, ".packaging/rxe_dm.spec"), encoding="ascii") as f:
        lines = f.read().split(f"\n%files{section}\n")[1].split("\n%files")[0].split("\n%changelog")[0].split("\n")
    for line in lines:
        found = re.match(r"%\{(\w+)\}/(\S+)", line)
        if found:
            yield f"{FOLDERS[found[1]]}/{found[2]}"
        elif line and not line.startswith(("%license", "%doc", "%dir")):
            yield line


def compare(files, packages):
    complaints = []
    for kind, lines in packages.items():
        owners = {path: [] for path in files}
        for line in lines:
            owned = [path for path in files if fnmatch.fnmatch(path, line) or path.startswith(line.rstrip("/") + "/")]
            for path in owned:
                owners[path].append(line)
            if not owned:
                complaints.append(f"{kind}: '{line}' names nothing that is installed")
        complaints += [f"{kind}: {path} is in {len(found)} packages: {found}" for path, found in sorted(owners.items())
                       if len(found) != 1]
    return complaints


def main():
    build, root = sys.argv[1:]
    files = installed(build)
    files |= library_links(files)
    packages = {
        "Debian": [line for name in ("rxe-dm", "rxe-dm-dev") for line in debian_lines(root, name)],
        "RPM": [line for section in ("", " devel") for line in rpm_lines(root, section)],
    }
    # Proves that a missing file and a line for nothing are found.
    for wrong in (dict(packages, Debian=packages["Debian"][1:]), dict(packages, RPM=packages["RPM"] + ["bin/none"])):
        if not compare(files, wrong):
            print("compare() finds no fault")
            return 1
    complaints = compare(files, packages)
    print("\n".join(complaints) or f"{len(files)} files")
    return 1 if complaints or len(files) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
