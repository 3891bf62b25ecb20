# SPDX-License-Identifier: MIT
"""Frames of the loopback interface, written as pcap and decoded by tshark. Needs the right to open a packet socket."""

import ctypes
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

from instance import search_path
from program import Failure, Skip

ETH_P_ALL = 0x0003
PACKET_OUTGOING = 4
SO_ATTACH_FILTER, SO_RCVBUFFORCE = 26, 33
RCVBUF_BYTES = 64 << 20
PROTO_AT, SRC_AT, DPORT_AT = 23, 26, 36
ROCE_PORT = 4791


class Capture:
    """What one IPv4 address sends to port 4791 over lo, from construction to stop()."""

    def __init__(self, folder, address):
        if not shutil.which("tshark", path=search_path()):
            raise Skip("tshark is not installed")
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # receives nothing until it is bound
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF_BYTES)
        except PermissionError:
            raise Skip("no right to capture on lo: needs root or CAP_NET_RAW") from None
        let_in_only(self.socket, socket.inet_aton(address))
        self.socket.bind(("lo", ETH_P_ALL))
        self.path = os.path.join(folder, "lo.pcap")
        self.frames = []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()

    def collect(self):
        """Until told to end and nothing is left to read: what was sent before stop() is in."""
        while True:
            ready, _, _ = select.select([self.socket], [], [], 0.05)
            if not ready:
                if self.ending.is_set():
                    return
                continue
            frame, source = self.socket.recvfrom(1 << 17)
            if source[2] != PACKET_OUTGOING:
                self.frames.append((time.time(), frame))

    def stop(self):
        if self.ending.is_set():
            return
        self.ending.set()
        self.thread.join()
        self.socket.close()
        with open(self.path, "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 17, 1))
            for when, frame in self.frames:
                seconds = int(when)
                micros = int((when - seconds) * 1e6)
                f.write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)

    def fields(self, *names):
        """A row for each packet: the named fields, as tshark decodes them."""
        return decode(self.path, *names)

    def summary(self, count):
        """tshark's own lines, for people."""
        done = subprocess.run(["tshark", "-n", "-r", self.path, "-c", str(count)],
                              capture_output=True, text=True, check=False, timeout=60)
        return re.sub(r"\n\n+", "\n", done.stdout)


def let_in_only(packet_socket, source):
    """UDP to port 4791 from this IPv4 address, by a filter in the kernel: what others send over lo meanwhile is too much to read."""
    load_byte, load_half, load_word, jump_if_equal, give_back = 0x30, 0x28, 0x20, 0x15, 0x06
    program = [(load_byte, 0, 0, PROTO_AT), (jump_if_equal, 0, 5, socket.IPPROTO_UDP),
               (load_word, 0, 0, SRC_AT), (jump_if_equal, 0, 3, struct.unpack("!I", source)[0]),
               (load_half, 0, 0, DPORT_AT), (jump_if_equal, 0, 1, ROCE_PORT),
               (give_back, 0, 0, 1 << 18), (give_back, 0, 0, 0)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    packet_socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                             struct.pack("@HP", len(program), ctypes.addressof(code)))


def decode(path, *names):
    """A row for each packet of a file: the named fields, as tshark decodes them."""
    args = ["tshark", "-n", "-r", path, "-T", "fields"]
    for name in names:
        args += ["-e", name]
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise Failure(f"tshark: {done.stderr}")
    return [line.split("\t") for line in done.stdout.split("\n") if line]
