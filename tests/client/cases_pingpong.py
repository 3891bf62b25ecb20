# SPDX-License-Identifier: MIT
"""Debian's four pingpongs, one option after the other."""

import functools
import re

from instance import Instance, free_port
from program import Failure

RESULT = re.compile(r"^(\d+) bytes in [\d.]+ seconds = .*Mbit/sec$", re.MULTILINE)


def pingpong(build, name, args, timeout_s=60):
    with Instance(build, name) as instance:
        for text in instance.pair(args, timeout_s=timeout_s):
            if not RESULT.search(text):
                raise Failure(f"{' '.join(args)}: no result line")
            if re.search("invalid data|mismatch", text, re.IGNORECASE):
                raise Failure(f"{' '.join(args)}: it found wrong data")


# name: arguments, as the issue lists them
OPTIONS = {
    "rc_pingpong": ["ibv_rc_pingpong"],
    "rc_pingpong_dm": ["ibv_rc_pingpong", "-j"],
    "rc_pingpong_events": ["ibv_rc_pingpong", "-e"],
    "rc_pingpong_check": ["ibv_rc_pingpong", "-c"],
    "rc_pingpong_dm_check_events": ["ibv_rc_pingpong", "-j", "-c", "-e"],
    "rc_pingpong_1m": ["ibv_rc_pingpong", "-s", "1048576", "-n", "200"],
    "rc_pingpong_1m_check": ["ibv_rc_pingpong", "-s", "1048576", "-n", "200", "-c"],
    "rc_pingpong_mtu256": ["ibv_rc_pingpong", "-m", "256"],
    "rc_pingpong_mtu4096": ["ibv_rc_pingpong", "-m", "4096"],
    "rc_pingpong_sl": ["ibv_rc_pingpong", "-l", "3"],
    "rc_pingpong_new_send": ["ibv_rc_pingpong", "-N"],
    "rc_pingpong_new_send_dm": ["ibv_rc_pingpong", "-N", "-j", "-c"],
    "rc_pingpong_rx1": ["ibv_rc_pingpong", "-r", "1"],
    "rc_pingpong_odp": ["ibv_rc_pingpong", "-o", "-c"],
    "rc_pingpong_odp_implicit": ["ibv_rc_pingpong", "-O", "-c"],
    "rc_pingpong_odp_prefetch": ["ibv_rc_pingpong", "-o", "-P", "-c"],
    "uc_pingpong": ["ibv_uc_pingpong"],
    "uc_pingpong_events": ["ibv_uc_pingpong", "-e"],
    "uc_pingpong_check": ["ibv_uc_pingpong", "-c"],
    "ud_pingpong": ["ibv_ud_pingpong"],
    "ud_pingpong_events": ["ibv_ud_pingpong", "-e"],
    "ud_pingpong_check": ["ibv_ud_pingpong", "-c", "-s", "1000"],
    "srq_pingpong": ["ibv_srq_pingpong", "-q", "16"],
    "srq_pingpong_events": ["ibv_srq_pingpong", "-q", "16", "-e"],
    "srq_pingpong_odp": ["ibv_srq_pingpong", "-q", "4", "-c", "-o"],
    "srq_pingpong_check": ["ibv_srq_pingpong", "-q", "4", "-c"],
}


def xsrq_pingpong(build, args):
    """XRC: each side has an SRQ, and sends to the other's by its number."""
    with Instance(build, "xsrq_pingpong") as instance:
        for text in instance.pair(["ibv_xsrq_pingpong", "-g", "0"] + args):
            if not re.search(r"^success$", text, re.MULTILINE):
                raise Failure(f"ibv_xsrq_pingpong {' '.join(args)}: no success")


def xsrq_pingpong_many(build, clients=3):
    """The server sends to each client's SRQ by way of all of them in turn: an SRQ serves what comes to another process."""
    args = ["ibv_xsrq_pingpong", "-g", "0", "-n", "300"]
    with Instance(build, "xsrq_pingpong_many") as instance:
        port = free_port()
        programs = [instance.serve(args + ["-c", str(clients)], port)]
        programs += [instance.join(args, port) for _ in range(clients)]
        for program in programs:
            if program.wait(60) != 0 or not re.search(r"^success$", program.text(), re.MULTILINE):
                raise Failure(f"ibv_xsrq_pingpong with {clients} clients: no success")


def ipv6_pingpong(build):
    with Instance(build, "rc_pingpong_ipv6", address="::1") as instance:
        text = instance.pair(["ibv_rc_pingpong", "-c", "-g", "0"])[1]
        if "GID ::1" not in text:
            raise Failure("the device does not show the GID of its IPv6 address")


def without_gid(build):
    """On RoCE a path needs a GID: it fails as on any RoCE NIC, and one line says what to type."""
    with Instance(build, "rc_pingpong_no_gid") as instance:
        port = free_port()
        server = instance.serve(["ibv_rc_pingpong"], port)
        client = instance.join(["ibv_rc_pingpong"], port)
        if client.wait(30) == 0:
            raise Failure("a pingpong without -g cannot work")
        server.wait(30)
        lines = [line for line in (client.text() + server.text()).split("\n") if "-g" in line]
        if not lines:
            raise Failure("no line says that -g is missing")


CASES = {name: functools.partial(pingpong, name=name, args=args + ["-g", "0"])
         for name, args in OPTIONS.items()}
CASES.update({
    "xsrq_pingpong": functools.partial(xsrq_pingpong, args=["-n", "1000"]),
    "xsrq_pingpong_events": functools.partial(xsrq_pingpong, args=["-n", "1000", "-e"]),
    "xsrq_pingpong_odp": functools.partial(xsrq_pingpong, args=["-n", "1000", "-o"]),
    "xsrq_pingpong_3_clients": xsrq_pingpong_many,
    "xsrq_pingpong_64k": functools.partial(xsrq_pingpong, args=["-n", "200", "-s", "65536", "-m", "4096"]),
})
CASES["rc_pingpong_ipv6"] = ipv6_pingpong
CASES["rc_pingpong_no_gid"] = without_gid
