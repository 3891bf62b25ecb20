# SPDX-License-Identifier: MIT
"""Runs programs inside the namespaces of a lab, from outside or from one of its nodes."""

import contextlib
import ctypes
import os
import signal

from topology import Mistake

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def join(pid, kinds):
    """Enters namespaces of a process; all are opened first, because /proc changes with the mount namespace."""
    opened = [(kind, os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)) for kind in kinds]
    for kind, fd in opened:
        if libc.setns(fd, 0) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the {kind} namespace of process {pid}: "
                                              f"{os.strerror(ctypes.get_errno())}")
        os.close(fd)


def differs(pid, kind):
    return os.stat(f"/proc/{pid}/ns/{kind}").st_ino != os.stat(f"/proc/self/ns/{kind}").st_ino


def enter(lab, holder):
    """The calling process changes to the namespaces of the lab and of a holder. Its children are in the PID namespace."""
    here = os.getcwd()
    if not os.environ.get("RXE_DM_LAB_FOLDER"):
        # As root of the machine there is no user namespace of the lab's own.
        kinds = [kind for kind in ("user", "mnt", "pid", "net") if differs(lab.keeper, kind)]
        join(lab.keeper, kinds)
    if holder:
        join(holder, ("net", "uts", "ipc", "mnt"))
    os.chdir(here)


def child(lab, holder, args, env):
    """The forked process: becomes the program, which ends with its parent."""
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        os._exit(126)
    for number in FORWARDED + (signal.SIGINT,):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(args[0], args, env)
    except OSError as error:
        os.write(2, f"rxe_dm lab: cannot run {args[0]} in {lab.name}{' ' + holder if holder else ''}: "
                    f"{error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def run(lab, node, args, env):
    """Runs a program in a node to its end, or in the switches' namespace (node None). Returns its exit status, 128 and
    the signal's number if a signal ended it. Signals that this process gets reach the program."""
    first = os.fork()
    if first == 0:
        os._exit(run_inside(lab, node, args, env))
    return wait(first)


def run_inside(lab, node, args, env):
    try:
        enter(lab, lab.holders[node] if node else 0)
    except OSError as error:
        os.write(2, f"rxe_dm lab: {error}\n".encode())
        return 125
    pid = os.fork()
    if pid == 0:
        child(lab, node, args, dict(env, RXE_DM_LAB_FOLDER=lab.folder))
    return wait(pid)


def pass_on(pid, number):
    with contextlib.suppress(ProcessLookupError):  # it has ended, and its status has been read
        os.kill(pid, number)


def wait(pid):
    for number in FORWARDED:
        signal.signal(number, lambda number, frame: pass_on(pid, number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the program as well
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def output(lab, node, args, env):
    """What a program in a node prints. Mistake: it failed, with what it said."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os._exit(run_inside(lab, node, args, env))
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if wait(pid) != 0:
        raise Mistake(f"{node or 'switches'}: {' '.join(args)}: {text.strip()}")
    return text
