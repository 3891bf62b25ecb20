# SPDX-License-Identifier: MIT
"""A lab without namespaces: each host is an instance of the device server with loopback addresses of its own. Fault rules
stand for delay, loss and links that are down. Every host reaches every other, whatever the links are."""

import os
import random
import signal
import time

import state

VARIABLE = "RXE_DM_LAB"
NOTE = ("hosts are loopback addresses: each reaches all others, TCP has no delay or loss, and rate and limit are not "
        "carried out")


def network():
    """A /16 of the loopback network that is likely no other lab's."""
    used = {lab.network for lab in state.all_labs()}
    while True:
        candidate = f"127.{random.randint(64, 250)}.0.0/16"
        if candidate not in used:
            return candidate


def mark(lab):
    """The value of RXE_DM_LAB in the environment of each program of the lab."""
    return f"{os.getuid()}.{lab.name}.{lab.network}"


def programs(lab):
    """Processes of this user with the lab's mark."""
    wanted = f"{VARIABLE}={mark(lab)}".encode()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(name) != os.getpid():
                with open(f"/proc/{name}/environ", "rb") as f:
                    if wanted in f.read().split(b"\0"):
                        yield int(name)
        except OSError:
            continue


def end_programs(lab):
    """Asks the lab's programs to end, and kills what is left after a second."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in list(programs(lab)):
            try:
                os.kill(pid, number)
            except OSError:
                continue
        deadline = time.monotonic() + 1
        while any(True for _ in programs(lab)) and time.monotonic() < deadline:
            time.sleep(0.02)
