# SPDX-License-Identifier: MIT
"""A device server beside programs that leave it no processor, hundreds at once, and the end of the terminal it came from."""

import os
import pty

from instance import Instance, free_port, process_is_there
from program import Failure

PAIRS, OPENS = 10, 40
MANY, SLOTS = 300, 255
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
    """They start at once, without a server: each has the device, or is told that the slots are taken."""
    with Instance(build, "hundreds") as instance:
        programs = [instance.start(["ibv_asyncwatch"]) for _ in range(MANY)]
        programs[0].wait_until(lambda: ended(programs) + served(instance) == MANY,
                               f"{MANY} that are served or refused", 120)
        told = [program for program in programs if "as many programs as it has slots" in program.text()]
        if len(told) != MANY - SLOTS or ended(told) != ended(programs):
            raise Failure(f"{ended(programs)} ended, {len(told)} were told of the slots, not {MANY - SLOTS}")


def ended(programs):
    return sum(not program.running() for program in programs)


def served(instance):
    return sum(len(device["programs"]) for device in instance.show()["devices"])


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
    "terminal_ends": terminal_ends,
}
