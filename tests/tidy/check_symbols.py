# SPDX-License-Identifier: MIT
"""What emu and net/wire need from outside, read from their archives: memory functions, assert, one CRC. No clock, no heap."""

import os
import subprocess
import tempfile

ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "__assert_fail", "libdeflate_crc32"}
# What a position-independent object and a hardened one refer to without asking for a service.
COMPILER = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}


def check(tree, context):
    if tree.root is None:
        return check_sample(tree, context)
    if not context.archives:
        return ["no archive was named: run it through meson"]
    if context.sanitized:
        context.skip("the archives are instrumented by a sanitizer")
    return check_archives(context.archives, context)


def check_archives(archives, context):
    defined = set()
    for archive in archives:
        defined |= symbols(context, ["--defined-only"], archive)
    complaints = []
    for archive in archives:
        strange = symbols(context, ["-u"], archive) - defined - ALLOWED - COMPILER
        complaints += [f"{os.path.basename(archive)}: needs {name}()" for name in sorted(strange)]
    return complaints


def symbols(context, flags, archive):
    listed = subprocess.run([context.nm, "-P"] + flags + [archive], capture_output=True, text=True,
                            check=True).stdout
    return {line.split()[0] for line in listed.split("\n") if len(line.split()) >= 2}


def check_sample(tree, context):
    with tempfile.TemporaryDirectory() as folder:
        tree.write_to(folder)
        archive = os.path.join(folder, "sample.a")
        objects = []
        for path, _ in tree.sources((".c",)):
            objects.append(os.path.join(folder, path[:-2] + ".o"))
            subprocess.run(context.cc + ["-O1", "-fPIC", "-fno-builtin", "-c", "-o", objects[-1],
                                         os.path.join(folder, path)], check=True)
        subprocess.run(["ar", "crs", archive] + objects, check=True)
        return check_archives([archive], context)


GOOD = [{
    "emu/a.c": "#include <string.h>\n#include <assert.h>\nint g(int);\n"
               "int f(char *p) { assert(p); memset(p, 0, 9); return g(1); }\n",
    "emu/b.c": "int g(int x);\nint g(int x) { return x; }\n",
}]
BAD = [
    {"emu/a.c": "#include <stdlib.h>\nvoid *f(void);\nvoid *f(void) { return malloc(9); }\n"},
    {"emu/a.c": "#include <time.h>\nlong f(void);\nlong f(void) { return time(0); }\n"},
    {"emu/a.c": "#include <errno.h>\nint f(void);\nint f(void) { return errno; }\n"},
    {"emu/a.c": "int g(int);\nint f(void);\nint f(void) { return g(1); }\n"},
]
