#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one object of the library's objects, in which the verbs that lib/check wraps are called inner_NAME.

usage: redefine.py LD NM OBJCOPY LIBRARY WRAPPERS OUTPUT

LIBRARY: an archive of the library's objects. WRAPPERS: an archive of lib/check, each ibv_NAME that it defines is renamed.
free(3) becomes check_free(), which keeps destroyed objects in quarantine.
"""
import subprocess
import sys


def main():
    ld, nm, objcopy, library, wrappers, output = sys.argv[1:]
    listed = subprocess.run([nm, "--defined-only", "-g", wrappers], check=True, capture_output=True, text=True).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if " T ibv_" in line})
    if not names:
        sys.exit("redefine.py: lib/check defines no verb")
    subprocess.run([ld, "-r", "-o", output + ".tmp", "--whole-archive", library], check=True)
    with open(output + ".names", "w", encoding="ascii") as f:
        f.write("".join(f"{name} inner_{name}\n" for name in names) + "free check_free\n")
    subprocess.run([objcopy, "--redefine-syms=" + output + ".names", output + ".tmp", output], check=True)


if __name__ == "__main__":
    main()
