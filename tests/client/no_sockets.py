# SPDX-License-Identifier: MIT
"""Runs a program that may open local sockets only: any other socket(2) fails with EACCES, as in a sandbox without a network.

usage: no_sockets.py PROGRAM [ARGUMENT]..."""

import ctypes
import os
import platform
import socket
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF, RETURN = 0x20, 0x15, 0x06  # BPF: a word of struct seccomp_data, equal to a constant, a result
ALLOW, EACCES = 0x7fff0000, 0x0005000d
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
SOCKET = {"x86_64": 41, "aarch64": 198}


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(number):
    code = b"".join(struct.pack("HBBI", *step) for step in [
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF, 0, 3, number),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_IF, 1, 0, socket.AF_UNIX),
        (RETURN, 0, 0, EACCES),
        (RETURN, 0, 0, ALLOW)])
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    for call in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))]:
        if libc.prctl(*call):
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")


refuse(SOCKET[platform.machine()])
os.execvp(sys.argv[1], sys.argv[1:])
