# SPDX-License-Identifier: MIT
"""Runs a program whose system call fails with an errno, as under the filter of a container or a sandbox.

usage: without_call.py getrandom|madvise ERRNO PROGRAM [ARGUMENT]..."""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF, RETURN = 0x20, 0x15, 0x06  # BPF: a word of struct seccomp_data, equal to a constant, a result
ALLOW, FAIL = 0x7fff0000, 0x00050000
NUMBERS = {"x86_64": {"getrandom": 318, "madvise": 28}, "aarch64": {"getrandom": 278, "madvise": 233}}


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(number, error):
    code = b"".join(struct.pack("HBBI", *step) for step in [
        (LOAD, 0, 0, 0), (JUMP_IF, 0, 1, number), (RETURN, 0, 0, FAIL | error), (RETURN, 0, 0, ALLOW)])
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    for call in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))]:
        if libc.prctl(*call):
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")


refuse(NUMBERS[platform.machine()][sys.argv[1]], getattr(errno, sys.argv[2]))
os.execvp(sys.argv[3], sys.argv[3:])
