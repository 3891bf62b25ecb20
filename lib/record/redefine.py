#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one object of a library's objects, in which the calls that lib/record wraps are called below_NAME.

usage: redefine.py LD NM OBJCOPY PREFIX WRAPPERS OUTPUT OBJECT|ARCHIVE...

WRAPPERS: an archive of lib/record, each function that it defines with this PREFIX (ibv_, rdma_) is renamed.
"""
import subprocess
import sys


def main():
    ld, nm, objcopy, prefix, wrappers, output, *library = sys.argv[1:]
    listed = subprocess.run([nm, "--defined-only", "-g", wrappers], check=True, capture_output=True, text=True).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if f" T {prefix}" in line})
    if not names:
        sys.exit(f"redefine.py: {wrappers} defines no {prefix}*")
    subprocess.run([ld, "-r", "-o", output + ".tmp", "--whole-archive", *library], check=True)
    with open(output + ".names", "w", encoding="ascii") as f:
        f.write("".join(f"{name} below_{name}\n" for name in names))
    subprocess.run([objcopy, "--redefine-syms=" + output + ".names", output + ".tmp", output], check=True)


if __name__ == "__main__":
    main()
