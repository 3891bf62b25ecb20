# SPDX-License-Identifier: MIT
"""What a folder must never call: a clock or a lock in the silicon, a byte swap there, a sleep in a test."""

import re

from tree import code_only, lines_matching

CLOCK = ["clock_gettime", "clock", "gettimeofday", "time", "timespec_get", "rdtsc", "__rdtsc",
         "ftime"]
SLEEP = ["sleep", "usleep", "nanosleep", "clock_nanosleep", "thrd_sleep"]
HEAP = ["malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "strdup", "mmap"]
THREAD = [r"pthread_\w+", r"mtx_\w+", r"thrd_\w+"]
SYSTEM = ["socket", "sendmsg", "recvmsg", "poll", "epoll_wait", "read", "write", "printf",
          "fprintf", "random", "rand", "getrandom"]
SWAP = ["htons", "htonl", "ntohs", "ntohl", r"htobe\d+", r"be\d+toh", r"htole\d+", r"le\d+toh",
        r"bswap_\d+", r"__bswap_\d+", r"__builtin_bswap\d+"]

RULES = [
    ("emu/", CLOCK + SLEEP, "time is a parameter in emu"),
    ("emu/", HEAP, "emu allocates nothing: the caller brings the memory"),
    ("emu/", THREAD + SYSTEM, "emu knows no thread, lock or system call"),
    ("emu/", SWAP, "byte order is net/wire's business"),
    ("net/wire/", CLOCK + SLEEP + HEAP + THREAD + SYSTEM, "net/wire turns bytes into structs, no more"),
    ("tests/unit/", SLEEP, "a test that sleeps is slow or flaky: wait for the event"),
    ("tests/trace/", SLEEP + CLOCK, "traces run in simulated time"),
    ("tests/sim/", SLEEP + CLOCK, "the simulator keeps its own time"),
    ("tests/unit/emu", CLOCK, "emu's tests hand in the time"),
    ("tests/unit/rc", CLOCK, "emu's tests hand in the time"),
    ("tests/unit/wire", CLOCK, "wire formats know no time"),
]

ERRNO = re.compile(r"(?<![\w.>])errno\b")


def check(tree, _context):
    complaints = []
    for folder, names, why in RULES:
        # A call, not a member (host->read) and not a part of a longer name.
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(names) + r")\s*\(")
        for path, text in tree.sources(under=folder):
            for number, found in lines_matching(code_only(text), pattern):
                complaints.append(f"{path}:{number}: {found.group(1)}(): {why}")
    for folder in ("emu/", "net/"):
        for path, text in tree.sources(under=folder):
            if folder == "net/" and path.startswith("net/link/"):
                continue
            for number, _ in lines_matching(code_only(text), ERRNO):
                complaints.append(f"{path}:{number}: errno is the operating system's")
    return complaints


GOOD = [{
    "emu/a.c": "/* time(NULL) */ host->read(x); ops.write(y); runtime(z); set_time(now);\n",
    "tests/unit/b.c": 'puts("sleep(1)");\n',
    "lib/verbs/c.c": "clock_gettime(CLOCK_MONOTONIC, &t); malloc(1); htons(2); errno = 1;\n",
}]
BAD = [
    {"emu/a.c": "now = clock_gettime(0, &t);\n"},
    {"emu/a.c": "x = time (NULL);\n"},
    {"emu/a.h": "p = malloc(3);\n"},
    {"emu/a.c": "pthread_mutex_lock(&l);\n"},
    {"emu/a.c": "x = htonl(y);\n"},
    {"emu/a.c": "x = __builtin_bswap64(y);\n"},
    {"emu/a.c": "return errno;\n"},
    {"net/wire/a.c": "free(p);\n"},
    {"tests/unit/a.c": "usleep(3);\n"},
    {"tests/trace/a.c": "clock_gettime(0, &t);\n"},
    {"tests/sim/a.c": "nanosleep(&t, 0);\n"},
    {"tests/unit/emu_cq.c": "time(0);\n"},
]
