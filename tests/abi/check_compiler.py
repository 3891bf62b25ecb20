#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compile what runs inside programs (net, emu, lib) with another compiler: another processor, another C library. The headers
of other packages are the installed ones. Exit 0, 1, or 77 where the compiler is missing.

usage: check_compiler.py COMPILER SOURCE-ROOT BUILD-ROOT
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("net/", "emu/", "lib/")
HEADERS = ("infiniband", "rdma", "libdeflate.h", "uthash.h", "utlist.h")
# musl's compiler sees none of the kernel's headers either; a cross compiler has its own.
KERNEL = ("linux", "asm", "asm-generic")
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden",
         "-fno-strict-aliasing"]
# The assembler of another processor checks the inline assembly.
SAME_PROCESSOR, OTHER_PROCESSOR = ["-fsyntax-only"], ["-c", "-o", "/dev/null"]


def installed(name):
    """Where a header or a folder of headers is."""
    for folder in ["/usr/include"] + sorted(str(p) for p in pathlib.Path("/usr/include").glob("*-linux-gnu")):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def sources(root, build):
    """The files of the build, with the macros that are their own."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    found = {}
    for command in commands:
        path = os.path.relpath(os.path.normpath(os.path.join(command["directory"], command["file"])), root)
        # libpcap's headers are not asked for: only the server uses them.
        if path.startswith(FOLDERS) and path != "net/link/ethernet/filter.c":
            words = shlex.split(command["command"])
            found[path] = [w for w in words if w.startswith(("-DRXE_", "-U"))]
    return found


def main():
    compiler, root, build = sys.argv[1], sys.argv[2], sys.argv[3]
    if not shutil.which(compiler):
        print("skipped: %s is not installed" % compiler)
        sys.exit(77)
    files = sources(root, build)
    if not files:
        sys.exit("no source found in %s/compile_commands.json" % build)
    with tempfile.TemporaryDirectory() as folder:
        for name in HEADERS + (KERNEL if "musl" in compiler else ()):
            if installed(name):
                os.symlink(installed(name), os.path.join(folder, name))
        kind = SAME_PROCESSOR if "musl" in compiler else OTHER_PROCESSOR
        include = ["-I" + root, "-I" + build] + ["-I%s/%s" % (build, p) for p in ("lib/abi", "lib/mlx5", "lib/rdmacm")] + ["-isystem", folder]

        def compile_one(item):
            command = [compiler] + FLAGS + kind + include + item[1] + [os.path.join(root, item[0])]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            return done.stdout if done.returncode else ""

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = [c for c in pool.map(compile_one, sorted(files.items())) if c]
    print("".join(complaints)[-8000:] or "%s compiles %d files" % (compiler, len(files)))
    sys.exit(bool(complaints))


main()
