# SPDX-License-Identifier: MIT
"""The commands of lib/gdb/rxe.py in a live program and in its core file: a program of ours with a SEND outstanding, a receive posted and
a completion that it has not polled."""

import os
import re
import shutil
import subprocess
import tempfile

from instance import Instance, clean_environment, need_program
from program import Failure, Skip, patient

READY = re.compile(r"process (\d+) qp (0x\w+) peer (0x\w+) lkey (0x\w+) send (0x\w+) receive (0x\w+)")
COMMANDS = ["rxe", "rxe qp", "rxe qp {qp}", "rxe wr {qp}", "rxe cq", "rxe mr {lkey}", "rxe last {qp}", "rxe qp 1"]
# The SEND is resent after each RNR NAK of its peer.
EXPECTED = [
    r"^rxe_dm0: 2 queue pairs, slot \d+, address {address}$",
    r"^QP {qp} RC RTS to QP {peer} at {address}: 1 sends, 1 receives$",
    r"^QP {peer} RC RTS to QP {qp} at {address}: 0 sends, 0 receives$",
    r"^  sends: PSN \d+ is the oldest without ACK, \d+ is sent next; retries 0 of 7, RNR retries 0 of 7$",
    r"^  send wr_id 0x2001: SEND, 256 bytes; (sent, no ACK yet|sending), PSN (\d+)\.\.\2$\n^      256 bytes at {send}, lkey {lkey}$",
    r"^  receive wr_id 0x1001: 512 bytes$\n^      512 bytes at {receive}, lkey {lkey}$",
    r"^CQ \d+ \(struct ibv_cq \*\) 0x\w+: 1 completions not polled, of \d+ at most; notification idle$\n"
    r"^  send wr_id 0x3001: SUCCESS, RDMA_WRITE, \d+ bytes, QP {qp}$",
    r"^MR {lkey}: 4194304 bytes of memory at 0x\w+, PD \d+, local_write remote_write remote_read remote_atomic$",
    r"ms > RC SEND_ONLY PSN \d+ to QP {peer}, \d+ bytes, asks for an ACK",
    r"ms < RC ACKNOWLEDGE PSN \d+ to QP {qp}, 20 bytes, RNR NAK$",
    r"^no queue pair 0x000001: `rxe qp` lists all$",
]


def place_script(build, folder):
    """Where gdb looks for the script of the library, below a folder of its own."""
    library = os.path.realpath(os.path.join(build, "lib", "verbs", "libibverbs.so.1"))
    place = f"{folder}{library}-gdb.py"
    os.makedirs(os.path.dirname(place))
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", "..", "lib", "gdb", "rxe.py"), place)


def session(folder, args, commands):
    """What gdb prints. It loads the script with the library, from the folder alone."""
    words = ["gdb", "-q", "-nx", "-batch", "-iex", f"set auto-load scripts-directory {folder}", "-iex", f"set auto-load safe-path {folder}",
             *args]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run(words, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=patient(60), check=False)
    if re.search("Operation not permitted|scripting in this copy of GDB", done.stderr):
        raise Skip(f"gdb may not attach, or has no Python: {done.stderr}")
    return done.stdout + done.stderr


def need_all(what, text, values):
    for pattern in EXPECTED:
        for name, value in values.items():
            pattern = pattern.replace("{" + name + "}", re.escape(value))
        if not re.search(pattern, text, re.MULTILINE):
            raise Failure(f"{what} does not say '{pattern}':\n{text}")


def commands(build):
    need_program("gdb")
    program = os.path.join(build, "tests", "client", "verbs_debugged")
    with tempfile.TemporaryDirectory() as folder, Instance(build, "gdb") as instance:
        place_script(build, folder)
        debugged = instance.start([program])
        debugged.wait_for_line(READY.pattern)
        values = dict(zip(("pid", "qp", "peer", "lkey", "send", "receive"), READY.search(debugged.text()).groups()),
                      address=instance.address)
        rxe = [command.format(**values) for command in COMMANDS]
        core = os.path.join(folder, "core")
        need_all("gdb in the program", session(folder, ["-p", values["pid"]], [*rxe, f"gcore {core}"]), values)
        need_all("gdb in the core file", session(folder, [program, core], rxe), values)


CASES = {"gdb_commands": commands}
