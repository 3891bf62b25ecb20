# SPDX-License-Identifier: MIT
"""The commands of lib/gdb/rxe.py in a live program and in its core file: a program of ours with a SEND outstanding, a receive posted and
a completion that it has not polled."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile

from instance import Instance, clean_environment, need_program
from program import Failure, Program, Skip, patient

PREFIX = "/usr/local"

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


# After a completion with an error.
REFUSED = [
    r"^QP {qp} RC ERR to QP {peer} at {address}: 0 sends, 0 receives$",
    r"^  send wr_id 0x4001: REM_ACCESS_ERR, RDMA_WRITE, \d+ bytes, QP {qp}$",
    r"ms > RC WRITE_ONLY PSN \d+ to QP {peer}, \d+ bytes, asks for an ACK$",
    r"ms < RC ACKNOWLEDGE PSN \d+ to QP {qp}, 20 bytes, NAK: remote access error$",
]


def place_script(build, folder):
    """Where gdb looks for the script of the library, below a folder of its own."""
    library = os.path.realpath(os.path.join(build, "lib", "verbs", "libibverbs.so.1"))
    place = f"{folder}{library}-gdb.py"
    os.makedirs(os.path.dirname(place))
    shutil.copy(os.path.join(os.path.dirname(__file__), "..", "..", "lib", "gdb", "rxe.py"), place)


def session(folder, args, commands, prefix=()):
    """What gdb prints. It loads the script with the library, from the folder alone."""
    words = [*prefix, "gdb", "-q", "-nx", "-batch", "-iex", f"set auto-load scripts-directory {folder}", "-iex", f"set auto-load safe-path {folder}",
             *args]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run(words, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=patient(60), check=False)
    if re.search("Operation not permitted|scripting in this copy of GDB", done.stderr):
        raise Skip(f"gdb may not attach, or has no Python: {done.stderr}")
    return done.stdout + done.stderr


def need_all(what, text, values, expected=EXPECTED):
    for pattern in expected:
        for name, value in values.items():
            pattern = pattern.replace("{" + name + "}", re.escape(value))
        if not re.search(pattern, text, re.MULTILINE):
            raise Failure(f"{what} does not say '{pattern}':\n{text}")


def start(instance, args):
    """The program, until it waits for the debugger; what it says of itself."""
    debugged = instance.start(args)
    debugged.wait_for_line(READY.pattern)
    return dict(zip(("pid", "qp", "peer", "lkey", "send", "receive"), READY.search(debugged.text()).groups()), address=instance.address)


def installed(build):
    """What 'meson install' installs, at its prefix: gdb loads the commands with the library. The program's last request was refused."""
    need_program("gdb")
    program = os.path.join(build, "tests", "client", "verbs_debugged")
    with tempfile.TemporaryDirectory() as folder, own_mounts() as prefix:
        install(build, folder)
        mount_over(prefix, folder, PREFIX)
        with Instance(build, "gdb_installed", prefix=prefix) as instance:
            instance.command_path = f"{PREFIX}/bin/rxe_dm"
            values = start(instance, [program, "refused"])
            text = session(f"{PREFIX}/share/gdb/auto-load", ["-p", values["pid"]],
                           ["info auto-load python-scripts rxe_dm", *(f"rxe {word} {values['qp']}" for word in ("qp", "last")), "rxe cq"], prefix)
            need_all("gdb with the installed commands", text, values,
                     [rf"^Yes +{PREFIX}/share/gdb/auto-load/{PREFIX[1:]}/\S+/libibverbs.so.1.18.0-gdb.py", *REFUSED])


@contextlib.contextmanager
def own_mounts():
    """A mount namespace, as the words before a program that is to run in it."""
    if os.geteuid() != 0:
        raise Skip("a mount namespace needs root")
    holder = Program("mounts", ["unshare", "--mount", "sh", "-c", "echo ready; exec sleep 900"], clean_environment())
    try:
        holder.wait_until(lambda: "ready" in holder.text(), "a mount namespace")
        yield ["nsenter", "-t", str(holder.pid), "-m"]
    finally:
        holder.end()
        holder.log.close()


def mount_over(prefix, folder, place):
    done = subprocess.run([*prefix, "mount", "--bind", folder + place, place], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"mount: {done.stderr}")


def install(build, folder):
    done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder],
                          capture_output=True, text=True, timeout=patient(60), check=False)
    if done.returncode != 0:
        raise Failure(f"meson install: {done.stdout}{done.stderr}")
    if not os.path.isdir(folder + PREFIX):
        raise Skip(f"this build does not install below {PREFIX}")


def commands(build):
    need_program("gdb")
    program = os.path.join(build, "tests", "client", "verbs_debugged")
    with tempfile.TemporaryDirectory() as folder, Instance(build, "gdb") as instance:
        place_script(build, folder)
        values = start(instance, [program])
        rxe = [command.format(**values) for command in COMMANDS]
        core = os.path.join(folder, "core")
        need_all("gdb in the program", session(folder, ["-p", values["pid"]], [*rxe, f"gcore {core}"]), values)
        need_all("gdb in the core file", session(folder, [program, core], rxe), values)


CASES = {"gdb_commands": commands, "gdb_installed": installed}
