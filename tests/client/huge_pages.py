# SPDX-License-Identifier: MIT
"""A pool of huge pages for a while: root reserves a few for the tests that need some, if the machine has none."""

import contextlib
import fcntl
import os
import re

PAGES = 60  # a server takes 32 for its device memory where twice as many are free
POOL = "/proc/sys/vm/nr_hugepages"
RESERVED = "/run/rxe_dm-huge-pages-reserved"  # where only root may make files
MANY = "/run/rxe_dm-huge-pages-many"


def in_pool():
    if not os.path.exists(POOL):
        return 0
    with open(POOL, encoding="ascii") as f:
        return int(f.read())


def pool_kib():
    with open("/proc/meminfo", encoding="ascii") as f:
        return in_pool() * int(re.search(r"Hugepagesize:\s+(\d+) kB", f.read())[1])


def free():
    with open("/proc/meminfo", encoding="ascii") as f:
        return int(re.search(r"HugePages_Free:\s+(\d+)", f.read())[1])


def may_reserve():
    return os.geteuid() == 0 and os.access(POOL, os.W_OK) and os.access(os.path.dirname(RESERVED), os.W_OK)


def reserve(pages):
    with open(POOL, "w", encoding="ascii") as f:
        f.write(str(pages))


@contextlib.contextmanager
def huge_pages(many=False):
    """Tests run side by side: all users of the pool share a lock, and the last one frees the pages. The file is empty when the
    pool was there before; the next test frees what a killed one reserved. many: this one takes up to half of the pool, and no
    other such one runs meanwhile."""
    if not may_reserve():
        yield
        return
    with contextlib.ExitStack() as stack:
        if many:
            fcntl.flock(stack.enter_context(open(MANY, "a", encoding="ascii")), fcntl.LOCK_EX)
        note = stack.enter_context(open(RESERVED, "a+", encoding="ascii"))
        fcntl.flock(note, fcntl.LOCK_SH)
        if in_pool() == 0:
            reserve(PAGES)
            note.write("reserved\n")
            note.flush()
        try:
            yield
        finally:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
                note.seek(0)
                if note.read():
                    reserve(0)
                    note.truncate(0)
