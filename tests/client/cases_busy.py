# SPDX-License-Identifier: MIT
"""A device server beside programs that leave it no processor, hundreds at once, and the end of the terminal it came from."""

import os
import pty
import re
import signal
import time

from cases_trouble import wait_traffic
from instance import Instance, free_port, process_is_there
from program import Failure, until

PAIRS, OPENS = 10, 40
ON_FIRST, ON_SECOND, SLOTS = 270, 30, 255
QPS = 1000
# One shell, so that all are of one session, and the scheduler has one group of them. Bounded, should this process be killed.
# -u 22: a peer that gets no processor for two minutes is waited for.
SPIN = ["sh", "-c", "for port; do timeout 900 ib_send_lat -F -u 22 -D 900 -p $port $PEER & done; wait", "sh"]


def opens_beside_pollers(build):
    """Twenty programs that poll without end do not keep others from the device."""
    with Instance(build, "pollers") as instance:
        ports = set()
        while len(ports) < PAIRS:
            ports.add(free_port())
        words = [str(port) for port in ports]
        servers = instance.start([*SPIN, *words], title="servers")
        for port in ports:
            servers.wait_listening(port)
        clients = instance.start([*SPIN, *words], title="clients", env={"PEER": instance.peer_name})
        clients.wait_until(lambda: spinning(instance) == 2 * PAIRS, f"{PAIRS} connected pairs")
        for _ in range(OPENS):
            if "max_qp:" not in instance.run(["ibv_devinfo", "-v"], timeout_s=120):
                raise Failure("no device")
        if spinning(instance) < 2 * PAIRS:
            raise Failure(f"{spinning(instance)} of {2 * PAIRS} programs still poll")


def spinning(instance):
    """Connected queue pairs."""
    return sum(qp["state"] == "RTS" for device in instance.show()["devices"] for program in device["programs"]
               for qp in program["qps"])


def hundreds_at_once(build):
    """They start at once, without a server: 285 have one of two devices, the others are told that the slots of theirs are taken."""
    with Instance(build, "hundreds", address="127.63.3.1,127.63.3.2", devices=2) as instance:
        watch = ["ibv_asyncwatch", "-d"]
        programs = [instance.start([*watch, "rxe_dm0"]) for _ in range(ON_FIRST)]
        others = [instance.start([*watch, "rxe_dm1"]) for _ in range(ON_SECOND)]
        programs[0].wait_until(lambda: ended(programs) + served(instance) == ON_FIRST + ON_SECOND,
                               "programs that are served or refused", 120)
        told = [program for program in programs if "rxe_dm0 of instance" in program.text()
                and "as many programs as it has slots" in program.text()]
        if len(told) != ON_FIRST - SLOTS or ended(programs) != len(told) or ended(others):
            raise Failure(f"{ended(programs)} and {ended(others)} ended, {len(told)} were told of the slots, "
                          f"not {ON_FIRST - SLOTS}")


def thousand_qps(build):
    """In each of two programs; each of one program's has 16 requests under way."""
    with Instance(build, "thousand_qps") as instance:
        args = ["ib_write_bw", "-F", "-x", "0", "-s", "64", "-t", "16", "-n", "16", "-q", str(QPS)]
        client = instance.pair(args, timeout_s=120)[1]
        if not re.search(rf"^ *64[ \t]+{16 * QPS}[ \t]", client, re.MULTILINE):
            raise Failure("no row of results")


def ended(programs):
    return sum(not program.running() for program in programs)


def served(instance):
    return sum(len(device["programs"]) for device in instance.show()["devices"])


def stopped_requester(build):
    """What arrived while a program was stopped counts before the timers that passed meanwhile: no retry is spent. -u 17: 0.54 s.
    A peer that gets no processor may cost one all the same, so three of five stops have to show it."""
    with Instance(build, "stopped_requester") as instance:
        port = free_port()
        args = ["ib_write_bw", "-F", "-x", "0", "-s", "64", "-u", "17", "-D", "120"]
        instance.serve(args, port)
        client = instance.join(args, port)
        free = 0
        for _ in range(5):
            wait_traffic(instance)
            client.kill(signal.SIGSTOP)
            before, stopped = retries(instance), time.monotonic()
            until(lambda: time.monotonic() > stopped + 0.6, "end of the timers")
            client.kill(signal.SIGCONT)
            wait_traffic(instance)
            free += retries(instance) == before
            if free == 3:
                return
        raise Failure(f"{5 - free} of 5 stops cost retries")


def retries(instance):
    return instance.show()["devices"][0]["counters"]["completer_retry_err"]


def terminal_ends(build):
    """Ctrl-C, and the end of the terminal on which the first program ran, leave the server alone."""
    with Instance(build, "terminal") as instance:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve("/bin/sh", ["sh", "-c", f"{instance.command_path} run ibv_devices; echo started; exec cat"],
                      instance.env)
        shown = b""
        while b"started" not in shown:
            shown += os.read(terminal, 4096)
        server = instance.server_pid()
        with open(f"/proc/{server}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        group, session, its_terminal = (int(field) for field in fields[2:5])
        if group != server or session != pid or its_terminal:
            raise Failure(f"server {server}: group {group}, session {session}, not {pid}, terminal {its_terminal}")
        os.write(terminal, b"\x03")
        os.waitpid(pid, 0)
        os.close(terminal)
        if not process_is_there(server) or instance.server_pid() != server:
            raise Failure("the server has ended with the terminal")


CASES = {
    "opens_beside_pollers": opens_beside_pollers,
    "hundreds_at_once": hundreds_at_once,
    "thousand_qps": thousand_qps,
    "stopped_requester": stopped_requester,
    "terminal_ends": terminal_ends,
}
