# SPDX-License-Identifier: MIT
"""Runs in the guest: starts and ends programs as the host asks over a virtio-serial port, and sends what they print.

A message is a line of JSON. To the guest: {"start": number, "args": [...]} and {"end": number}. From it: {"ready": true} once,
{"id": number, "text": ...} and at last {"id": number, "exit": status}, negative for a signal."""

import glob
import json
import os
import signal
import subprocess
import threading

NAME = "agent"


class Port:
    """The line to the host. Threads send whole messages."""

    def __init__(self):
        found = [path for path in glob.glob("/sys/class/virtio-ports/*") if read(f"{path}/name") == NAME]
        self.file = os.open(f"/dev/{os.path.basename(found[0])}", os.O_RDWR)
        self.lock = threading.Lock()

    def send(self, **message):
        left = json.dumps(message).encode() + b"\n"
        with self.lock:
            while left:
                left = left[os.write(self.file, left):]

    def lines(self):
        rest = b""
        while data := os.read(self.file, 65536):
            *whole, rest = (rest + data).split(b"\n")
            yield from whole


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def run(port, number, args, programs):
    """One program, from its start to its end; a thread of its own."""
    try:
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    except OSError as why:
        port.send(id=number, text=f"{args[0]}: {why.strerror}\n")
        port.send(id=number, exit=127)
        return
    programs[number] = process
    while data := os.read(process.stdout.fileno(), 65536):
        port.send(id=number, text=data.decode("utf-8", "replace"))
    port.send(id=number, exit=process.wait())


def end(process):
    """The whole session that the program leads has its group."""
    if process and process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def main():
    port, programs = Port(), {}
    port.send(ready=True)
    for line in port.lines():
        message = json.loads(line)
        if "start" in message:
            threading.Thread(target=run, args=(port, message["start"], message["args"], programs), daemon=True).start()
        else:
            end(programs.get(message["end"]))


if __name__ == "__main__":
    main()
