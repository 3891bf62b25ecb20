#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one object of the library's objects, in which the verbs that lib/check wraps are called inner_NAME.

usage: redefine.py LD NM OBJCOPY PREFIX FREE LIBRARY WRAPPERS OUTPUT

LIBRARY: an archive of the library's objects. WRAPPERS: an archive of the layer, each function that it defines with this PREFIX
(ibv_, rdma_) is renamed. free(3) becomes FREE, which keeps destroyed objects in quarantine. Calls of
memory_copy_in_order() become calls of check_copy_in_order() (lib/check/mem_arrival.c), those of early_look() calls of
check_early_look() (lib/check/port_early.c).
"""
import subprocess
import sys


def main():
    ld, nm, objcopy, prefix, free, library, wrappers, output = sys.argv[1:]
    listed = subprocess.run([nm, "--defined-only", "-g", wrappers], check=True, capture_output=True, text=True).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if f" T {prefix}" in line})
    if not names:
        sys.exit(f"redefine.py: {wrappers} defines no {prefix}*")
    subprocess.run([ld, "-r", "--wrap=memory_copy_in_order", "--wrap=early_look", "-o", output + ".tmp", "--whole-archive", library], check=True)
    with open(output + ".names", "w", encoding="ascii") as f:
        f.write("".join(f"{name} inner_{name}\n" for name in names) + f"free {free}\n__wrap_memory_copy_in_order check_copy_in_order\n"
                "__wrap_early_look check_early_look\n")
    subprocess.run([objcopy, "--redefine-syms=" + output + ".names", output + ".tmp", output], check=True)


if __name__ == "__main__":
    main()
