# SPDX-License-Identifier: MIT
"""Reads the verbs that programs called, from the files of a recorded run (lib/record/ring.h)."""

import collections
import glob
import os
import struct

MAGIC = 0x316c6c61635f6d64
HEAD = struct.Struct("=QIIIiqQ16s")
CALL = struct.Struct("=QQIIHHi12Q")
TABLE_AT = 64

# time_ns since 1970; error: an errno, 0 for success; given: arguments and results by name.
Call = collections.namedtuple("Call", "time_ns took_ns thread verb error given")


class Process:
    """calls by time. missing: calls that were overwritten by later ones."""

    def __init__(self, pid, comm, calls, missing):
        self.pid, self.comm, self.calls, self.missing = pid, comm, calls, missing

    def title(self):
        return f"{self.comm}[{self.pid}]"


def table_of(head):
    """Name and arguments of each verb."""
    text = head[TABLE_AT:].split(b"\0", 1)[0].decode("ascii", "replace")
    return [(words[0], words[1:]) for words in (line.split() for line in text.splitlines()) if words]


def call_of(entry, table, epoch_ns):
    """None: the entry was not complete when the process ended."""
    number, time_ns, took_ns, thread, verb, count, error, *arguments = CALL.unpack(entry)
    if number == 0 or verb >= len(table):
        return None
    name, names = table[verb]
    return Call(time_ns + epoch_ns, took_ns, thread, name, error, dict(zip(names, arguments[:count])))


def read(path):
    """One process; None: the file is not such a file, or its process has not finished making it."""
    with open(path, "rb") as file:
        head = file.read(16384)
        if len(head) < 16384:
            return None
        magic, head_bytes, call_bytes, slots, pid, epoch_ns, following, comm = HEAD.unpack_from(head)
        if magic != MAGIC or head_bytes != len(head) or call_bytes != CALL.size:
            return None
        entries = file.read(min(slots, following) * CALL.size)
    table, comm = table_of(head), comm.split(b"\0", 1)[0].decode("utf-8", "replace")
    found = [call_of(entries[at:at + CALL.size], table, epoch_ns) for at in range(0, len(entries) - CALL.size + 1, CALL.size)]
    calls = sorted((call for call in found if call), key=lambda call: call.time_ns)
    return Process(pid, comm, calls, max(0, following - slots))


def read_folder(folder):
    """The processes of a record."""
    found = [read(path) for path in sorted(glob.glob(os.path.join(glob.escape(folder), "calls-*")))]
    return [process for process in found if process]


def trim(folder):
    """Frees what files have allocated for calls that were never made."""
    for path in glob.glob(os.path.join(glob.escape(folder), "calls-*")):
        with open(path, "r+b") as file:
            head = file.read(HEAD.size)
            if len(head) == HEAD.size:
                magic, head_bytes, call_bytes, slots, _, _, following, _ = HEAD.unpack(head)
                if magic == MAGIC and following < slots:
                    file.truncate(head_bytes + following * call_bytes)
