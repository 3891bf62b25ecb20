#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every program and library of the distribution that uses libibverbs loads with ours, all symbols bound at once.

usage: check_clients.py DIRECTORY...   (where our libibverbs.so.1 and libmlx5.so.1 are)
"""
import glob
import os
import re
import subprocess
import sys

BIN = ["ibv_*", "ib_*_bw", "ib_*_lat", "raw_ethernet_*", "rping", "ucmatose", "ucx_info", "fi_info", "rdma_*", "rcopy",
       "udaddy", "mckey", "cmtime", "riostream", "rstream", "udpong"]
LIB = ["libibverbs/*.so", "libmlx4.so.1", "libefa.so.1", "librdmacm.so.1", "ucx/*.so*", "libfabric.so.1"]


def found():
    for pattern in BIN:
        yield from glob.glob("/usr/bin/" + pattern)
    for pattern in LIB:
        yield from glob.glob("/usr/lib/x86_64-linux-gnu/" + pattern)
    yield from glob.glob("/usr/lib/python3/dist-packages/pyverbs/**/*.so", recursive=True)


def complaints_of(path, env):
    """What the loader has to say: it is asked to bind everything and to run nothing."""
    done = subprocess.run(["ldd", "-r", path], capture_output=True, text=True, env=env, check=False, timeout=20)
    said = done.stdout + done.stderr
    # Python's own symbols come from the interpreter that loads a module.
    bad = [l for l in said.splitlines()
           if re.search(r"undefined symbol|not found|not defined", l) and not re.search(r"undefined symbol: _?Py", l)]
    return bad, re.search(r"libibverbs\.so\.1 => (\S+)", said)


def main():
    ours = [os.path.abspath(d) for d in sys.argv[1:]]
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(ours), LD_BIND_NOW="1")
    asked = failed = 0
    for path in sorted(set(found())):
        with open(path, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        bad, which = complaints_of(path, env)
        if not which and not bad:
            continue
        asked += 1
        if which and os.path.dirname(which.group(1)) not in ours:
            bad.append("uses " + which.group(1))
        if bad:
            failed += 1
            print(path + ":\n    " + "\n    ".join(bad[:5]))
    if asked == 0:
        print("no client of libibverbs is installed")
        sys.exit(77)
    print("%d clients load, %d do not" % (asked - failed, failed))
    sys.exit(failed != 0)


main()
