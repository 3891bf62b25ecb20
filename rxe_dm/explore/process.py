# SPDX-License-Identifier: MIT
"""Processes of a run: ended with their group, and with this process."""

import ctypes
import fcntl
import glob
import os
import signal
import socket
import struct
import subprocess

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent():
    """For preexec_fn: a child is interrupted when the process that started it ends in any way."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)


def start(args, env, **options):
    return subprocess.Popen(args, env=env, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, **options)


def end_group(pid, sig=signal.SIGKILL):
    """Ends what is left of the process group of a child that leads one."""
    try:
        os.killpg(pid, sig)
    except (ProcessLookupError, PermissionError):
        pass


def delays_of(group):
    """By thread of a process group: the nanoseconds for which it was ready and had no processor."""
    found = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="ascii", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[2]) != group:
                    continue
            for path in glob.glob(stat[:-len("stat")] + "task/*/schedstat"):
                with open(path, encoding="ascii") as file:
                    found[path] = int(file.read().split()[1])
        except (OSError, IndexError, ValueError):
            continue
    return found


class Starvation:
    """seconds: how long a process group had no processor, looked at from time to time: in each interval the longest of any thread. So the
    programs that a script runs one after the other count as well."""

    def __init__(self, group):
        self.group, self.delays, self.seconds = group, {}, 0.0

    def look(self, interval_s):
        """interval_s: since the last look."""
        delays = delays_of(self.group)
        most = max((ns - self.delays.get(thread, 0) for thread, ns in delays.items()), default=0)
        self.seconds += min(most / 1e9, interval_s)
        self.delays = delays


def network_of_its_own():
    """Moves this process to a new network namespace with a loopback interface. False: not permitted."""
    if libc.unshare(CLONE_NEWNET):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(sock, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    return True
