# SPDX-License-Identifier: MIT
"""The cases: unmodified programs of Debian at both ends, the server on one and the client on the other. Each takes Ends."""

import functools

from cases_perftest import ROW
from program import Failure
from sides import Linux, need_good_end

SENT = r" [\d.]+s +[\d.]+ +[\d.]+$"


def programs(ends, server, client, result=None):
    ends.pair(server, client, result=result)


def perftest(ends, command):
    """Queue pairs exchanged over TCP. -u 18: a processor that stands still for a second uses no retry up."""
    words = command + " {device} -F -u 18 -p {port}"
    ends.pair(words, words + " {tcp}", how="tcp", result=ROW.pattern)


def perftest_cm(ends, command):
    """Connections by rdma_cm, of which perftest makes two. It listens again for the second one while its client connects, so
    the client's requests wait where the server is slow."""
    words = command + " -R -F -u 18 -p {port}"
    slow = isinstance(ends.server, Linux)
    rule = ends.client.check("fault", "add", "cm_delay", "message=REQ", "dir=out", "time=3s").strip() if slow else None
    try:
        ends.pair(words, words + " {address}", result=ROW.pattern)
    finally:
        if slow:
            ends.client.check("fault", "clear", rule)


def no_listener(ends, command, pattern, linux=None):
    """What a client says where no program listens; linux: what it may also say over Linux's libraries."""
    ends.refused(command, f"{pattern}|{linux}" if linux and isinstance(ends.client, Linux) else pattern)


def private_data(ends, space, answer, events):
    """events: of the client, after its address and route are resolved; what follows the last one of a program is zeros."""
    server = ends.serve(f"{{private_data}} listen {{address}} {{port}} {space} {answer} from-the-server", "cm")
    client = ends.join(f"{{private_data}} connect {{address}} {{port}} {space} from-the-client")
    for one in (client, server):
        need_good_end(one)
    request = {"tcp": 56, "udp": 180}[space]
    need_lines(server, [f"RDMA_CM_EVENT_CONNECT_REQUEST, status 0, {request} bytes: from-the-client"])
    need_lines(client, events)


def need_lines(program, lines):
    found = program.text().replace("\0", "").split("\n")
    for line in lines:
        if line not in found:
            raise Failure(f"{program.title}: no line '{line}'")


CM = {
    "rping": (programs, "rping -s -a {address} -p {port} -C 10 -S 4000 -v -V", "rping -c -a {address} -p {port} -C 10 -S 4000 -v -V"),
    "rping, its own queue pair": (programs, "rping -s -q -a {address} -p {port} -C 5 -V", "rping -c -q -a {address} -p {port} -C 5 -V"),
    "ucmatose": (programs, "ucmatose -b {address} -p {port} -c 4 -C 10 -S 3000", "ucmatose -s {address} -p {port} -c 4 -C 10 -S 3000"),
    "udaddy": (programs, "udaddy -b {address} -c 2 -C 10 -S 900", "udaddy -s {address} -c 2 -C 10 -S 900"),
    "rstream": (programs, "rstream -b {address} {family} -p {port} -I 20 -C 2 -S 65536 -T v",
                "rstream -s {address} {family} -p {port} -I 20 -C 2 -S 65536 -T v", SENT),
    "rstream, blocking": (programs, "rstream -b {address} {family} -p {port} -I 20 -C 2 -S 3000 -T b",
                          "rstream -s {address} {family} -p {port} -I 20 -C 2 -S 3000 -T b", SENT),
    "no listener, rping": (no_listener, "rping -c -a {address} -p {port} -C 1", "RDMA_CM_EVENT_REJECTED, error 8"),
    "no listener, ucmatose": (no_listener, "ucmatose -s {address} -p {port}", "RDMA_CM_EVENT_REJECTED, error: 8"),
    # Linux's rpoll sometimes leaves errno as it was.
    "no listener, rstream": (no_listener, "rstream -s {address} {family} -p {port}", "Connection refused", "rpoll: Success"),
    "private data, accepted": (private_data, "tcp", "accept", [
        "RDMA_CM_EVENT_ESTABLISHED, status 0, 196 bytes: from-the-server", "RDMA_CM_EVENT_DISCONNECTED, status 0, 0 bytes: "]),
    "private data, rejected": (private_data, "tcp", "reject", ["RDMA_CM_EVENT_REJECTED, status 28, 148 bytes: from-the-server"]),
    "private data of UD, accepted": (private_data, "udp", "accept", ["RDMA_CM_EVENT_ESTABLISHED, status 0, 136 bytes: from-the-server"]),
    "private data of UD, rejected": (private_data, "udp", "reject", ["RDMA_CM_EVENT_UNREACHABLE, status 2, 136 bytes: from-the-server"]),
}
EIGHT = ["ib_write_bw -s 16384 -n 100", "ib_write_lat -n 100", "ib_read_bw -s 16384 -n 100", "ib_read_lat -n 100",
         "ib_send_bw -s 16384 -n 100", "ib_send_lat -n 100", "ib_atomic_bw -n 100", "ib_atomic_lat -n 100"]
# Both ways and with events: the options that change what the packets are.
RC = EIGHT + ["ib_send_bw -s 4096 -n 100 -b -e", "ib_write_bw -s 1000 -n 100 -q 4 -b", "ib_atomic_lat -A CMP_AND_SWAP -n 50"]
DATAGRAMS = ["ib_send_bw -c UC -s 8192 -n 100", "ib_send_lat -c UC -n 100", "ib_write_bw -c UC -s 8192 -n 100", "ib_write_lat -c UC -n 100",
             "ib_send_bw -c UD -s 1024 -n 100", "ib_send_lat -c UD -n 100"]
SRQ = ["ib_send_bw --use-srq -q 2 -s 4096 -n 100", "ib_send_lat --use-srq -n 100"]
FEW = ["ib_write_bw -s 16384 -n 100", "ib_read_bw -s 16384 -n 100", "ib_send_lat -n 100", "ib_atomic_lat -n 50",
       "ib_send_bw -c UC -s 8192 -n 100", "ib_send_lat -c UD -n 100", "ib_send_bw --use-srq -q 2 -s 4096 -n 100"]
LOSSY_CM = {name: CM[name] for name in ("rping", "ucmatose", "rstream", "private data, accepted")}
LOSSY = ["ib_write_bw -s 65536 -n 50", "ib_write_lat -n 100", "ib_read_bw -s 65536 -n 50", "ib_read_lat -n 100",
         "ib_send_bw -s 65536 -n 50", "ib_send_lat -n 100", "ib_atomic_bw -n 100", "ib_atomic_lat -n 100"]


def title(command):
    """A command without its counts."""
    words = command.split()
    kept = [word for before, word in zip([""] + words, words) if word not in ("-n", "-s") and before not in ("-n", "-s")]
    return " ".join(kept)


def bind(how, *rest):
    return functools.partial(call, how, rest)


def call(how, rest, ends):
    how(ends, *rest)


def plain(commands):
    return {title(command): bind(perftest, command) for command in commands}


def by_cm(commands):
    return {title(command) + " -R": bind(perftest_cm, command) for command in commands}


def connected(cases):
    return {name: bind(*case) for name, case in cases.items()}
