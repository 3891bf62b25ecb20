# SPDX-License-Identifier: MIT
"""The functions of a feature that the build leaves out are exported all the same: each returns -1, and errno is EOPNOTSUPP.

usage: check_left_out.py LIBRARY SYMBOLS.tsv FEATURE      LD_LIBRARY_PATH names the folder of our libibverbs.so.1"""

import ctypes
import errno
import os
import sys


def symbols(path, feature):
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.rstrip("\n").endswith("\t" + feature):
                yield line.split("\t")[1]


def refuses(library, name):
    """Called as each of its prototypes allows: with zeros."""
    function = getattr(library, name)
    function.restype = ctypes.c_long
    ctypes.set_errno(0)
    return function(0, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EOPNOTSUPP


def main():
    path, listed, feature = sys.argv[1:4]
    library = ctypes.CDLL(path, use_errno=True)
    # The check proves that it can fail: this one is in every build.
    if refuses(library, "rdma_event_str"):
        print("the check takes a function that is there for one that refuses")
        return 1
    names = list(symbols(listed, feature))
    flaws = [name for name in names if not refuses(library, name)]
    print("\n".join(f"{name}: does not refuse" for name in flaws) or f"{os.path.basename(path)}: {len(names)} functions refuse")
    return 1 if flaws or not names else 0


if __name__ == "__main__":
    sys.exit(main())
