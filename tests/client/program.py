# SPDX-License-Identifier: MIT
"""A program under test: started in a process group of its own, watched with a bound, always ended by its number."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

POLL_S = 0.01
# Bounds are there to find what hangs. On a busy machine, and with a sanitizer in it, everything takes its time.
WAIT_FACTOR = 20 if os.environ.get("RXE_TEST_SANITIZER") else 10
LONGEST_S = 600
# Tables of /proc/net and the state in them.
LISTENING_TCP = (("tcp", "tcp6"), "0A")
UNCONNECTED_UDP = (("udp", "udp6"), "07")


class Failure(Exception):
    """What went wrong, for the person who reads the test's output."""


class Skip(Exception):
    """Why this test cannot run here."""


def patient(timeout_s):
    return min(timeout_s * WAIT_FACTOR, LONGEST_S)


def until(condition, what, timeout_s=30):
    """Wait until condition() is true; a failure when the bound passes."""
    timeout_s = patient(timeout_s)
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"no {what} within {timeout_s} s")
        time.sleep(POLL_S)


class Program:
    """stdout and stderr go to one file, in the order they were written, so that a full pipe never blocks anybody."""

    def __init__(self, title, args, env):
        self.title = title
        self.args = args
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(args, env=env, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        return os.pread(self.log.fileno(), 16 << 20, 0).decode("utf-8", "replace")

    def running(self):
        return self.process.poll() is None

    def wait(self, timeout_s):
        """The exit status; a program that outlives its bound is ended and a failure."""
        timeout_s = patient(timeout_s)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            where = stacks(self.pid)
            self.end()
            raise Failure(f"{self.title}: still running after {timeout_s} s\n{where}") from None

    def wait_until(self, condition, what, timeout_s=30):
        """Until condition() is true; a failure when the program ends first or the bound passes."""
        def met():
            if condition():
                return True
            if not self.running() and not condition():
                raise Failure(f"{self.title}: ended ({self.process.returncode}) before {what}")
            return False
        until(met, f"{what} ({self.title})", timeout_s)

    def wait_for_line(self, pattern, timeout_s=30):
        self.wait_until(lambda: re.search(pattern, self.text()), f"a line like '{pattern}'",
                        timeout_s)

    def wait_listening(self, port, timeout_s=30):
        """Until it, or a program in its network namespace, listens on this TCP port."""
        self.wait_until(lambda: listening(self.pid, port), f"listening on port {port}", timeout_s)

    def wait_bound(self, port, timeout_s=30):
        """The same for a UDP socket that is bound to the port."""
        self.wait_until(lambda: listening(self.pid, port, UNCONNECTED_UDP), f"a UDP socket at port {port}", timeout_s)

    def kill(self, sig=signal.SIGKILL):
        """This one process and nothing else: what a crash does."""
        os.kill(self.pid, sig)

    def end(self):
        """End the whole session it leads, groups that it made in it as well: libcheck makes one for each test."""
        for sig in (signal.SIGTERM, signal.SIGKILL):
            members = session_of(self.pid)
            if not members:
                break
            for pid in members:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, sig)
            try:
                self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
        self.process.poll()

    def describe(self):
        state = "running" if self.running() else f"exit {self.process.returncode}"
        return f"--- {self.title} ({state}): {' '.join(self.args)}\n{self.text()}"


def end_all(programs):
    """Most have ended, and nothing is left in their sessions: one look at all processes says so."""
    living = sessions()
    for program in programs:
        if program.pid in living:
            program.end()
        else:
            program.process.poll()


def sessions():
    """{leader: processes} of all sessions."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat", "rb") as f:
                leader = int(f.read().rsplit(b")", 1)[1].split()[3])
            found.setdefault(leader, []).append(int(name))
    return found


def session_of(leader):
    """Who is in the session that this process leads, itself first, but for a device server that it started. Its number is
    nobody else's before it has been waited for."""
    pids = [pid for pid in sessions().get(leader, []) if not is_server(pid)]
    return sorted(pids, key=lambda pid: pid != leader)


def stacks(leader):
    """The stacks of all threads in the leader's session, by gdb(1), or why there are none."""
    if not shutil.which("gdb"):
        return "gdb is not installed: no stacks"
    said = []
    for pid in session_of(leader):
        try:
            done = subprocess.run(["gdb", "-batch", "-p", str(pid), "-ex", "thread apply all bt"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", timeout=30, check=False)
        except subprocess.TimeoutExpired:
            said.append(f"process {pid}: gdb did not end within 30 s")
            continue
        lines = [line for line in done.stdout.splitlines() if line.startswith(("Thread ", "#"))]
        said += lines or [f"process {pid}: gdb shows no stack: {done.stderr.strip()}"]
    return "\n".join(said)


def is_server(pid):
    """A device server of rxe_dm, which stays in its starter's session and outlives it."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return b"--ready-fd=3" in f.read().split(b"\0")
    except OSError:  # it has ended
        return False


def listening(pid, port, how=LISTENING_TCP):
    """Does somebody in this process's network namespace wait at the port?"""
    wanted = f":{port:04X}"
    tables, state = how
    for table in tables:
        try:
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as f:
                for line in f:
                    fields = line.split()
                    if fields[1].endswith(wanted) and fields[3] == state:
                        return True
        except OSError:
            continue
    return False
