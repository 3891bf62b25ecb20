# SPDX-License-Identifier: MIT
"""The cause that `rxe_dm show` names is the true one, also when it is a fault rule or a program that does not run."""

import functools
import re
import signal

from cases_faults import add
from instance import Instance, free_port
from program import Failure, until

# In pieces of four packets; the timers are short enough for a test, and long enough for a loaded machine.
ENDLESS = ["ib_write_bw", "-F", "-x", "0", "-D", "240"]
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-n", "1000"]


def failures(instance):
    return instance.show()["devices"][0]["failures"]


def need_cause(instance, status, cause):
    """One failure has that status, and names that cause; all are printed."""
    until(lambda: any(row["status"] == status for row in failures(instance)), f"failure with {status}")
    causes = [row["cause"] for row in failures(instance) if row["status"] == status]
    print("\n".join(f"{row['status']}: {row['cause']}" for row in failures(instance)))
    if not any(re.search(cause, text) for text in causes):
        raise Failure(f"{status} is said to come from {causes}, not from '{cause}'")


def by_rule(build, rule, status, cause):
    with Instance(build, "causes") as instance:
        instance.command("start")
        for line in rule.split("; "):
            add(instance, line)
        port = free_port()
        instance.serve(PINGPONG, port)
        instance.join(PINGPONG, port)
        need_cause(instance, status, cause)


def stopped(build):
    with Instance(build, "cause_stopped", stopped="lose") as instance:
        port = free_port()
        server = instance.serve(ENDLESS, port)
        instance.join(ENDLESS, port)
        until(lambda: instance.show()["devices"][0]["counters"]["rcvd_pkts"] > 1000, "traffic")
        server.kill(signal.SIGSTOP)
        need_cause(instance, "RETRY_EXC_ERR", rf"ib_write_bw \(process {server.pid}\) has the QP, but is stopped")


RULES = {
    "dropped": ("drop dir=out opcode=SEND_LAST", "RETRY_EXC_ERR", r"no answer: .* fault rules drop, delay or change packets"),
    "port_down": ("port_down after=1ms", "RETRY_EXC_ERR", "the port is down by a fault rule"),
    "nak": ("nak code=remote_access dir=in opcode=SEND_FIRST nth=3", "REM_ACCESS_ERR", "fault rule 1 sent the NAK for PSN .* in place of the peer"),
    "nak_invalid": ("nak code=invalid_request dir=in opcode=SEND_FIRST nth=3", "REM_INV_REQ_ERR", "fault rule 1 sent the NAK"),
    "nak_sequence": ("nak code=psn_sequence dir=in opcode=SEND_LAST", "RETRY_EXC_ERR", "fault rule 1 answered with PSN sequence error NAKs"),
    "receive": ("completion status=LOC_PROT_ERR side=recv nth=5", "REM_OP_ERR", "operational NAK .* the peer reports: a fault rule injected"),
    # The peer has exited when its NAK arrives.
    "receive_delayed": ("completion status=LOC_PROT_ERR side=recv nth=5; delay time=200ms dir=in opcode=ACKNOWLEDGE",
                        "REM_OP_ERR", "operational NAK .* the peer reports: a fault rule injected"),
}
CASES = {f"cause_{name}": functools.partial(by_rule, rule=rule, status=status, cause=cause)
         for name, (rule, status, cause) in RULES.items()}
CASES["cause_stopped"] = stopped
