# SPDX-License-Identifier: MIT
"""Keeps what is needed to look at a run afterwards, in a folder that `rxe_dm report` reads. The commands `capture` and `show` write
it; the verbs of a program are in a file that outlives it (lib/record). So a record is complete also when the program is killed."""

import glob
import json
import os
import signal
import subprocess
import sys
import threading

import process

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
import calls  # noqa: E402

READY_S, END_S = 20, 60
LEVEL = "4"


def size_of(view):
    """Programs, then objects: the view with the most is kept."""
    devices = view.get("devices", [])
    programs = sum(len(device["programs"]) for device in devices)
    return programs, sum(len(device[kind]) for device in devices for kind in ("pds", "mrs", "dms")) + \
        sum(len(program["qps"]) for device in devices for program in device["programs"])


class Views:
    """The stream of `show --json --watch`: counters of each view into a file, and the view with most objects."""

    def __init__(self, command, env, folder, every_ms=100, each=None):
        self.folder, self.each, self.most = folder, each, (0, 0)
        self.process = process.start([command, "show", "--json", "--watch", "--every", str(every_ms)], env, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True, errors="replace")
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line == "}\n":
                try:
                    self.take(json.loads("".join(lines)))
                except ValueError:
                    pass
                lines = []

    def take(self, view):
        if self.each:
            self.each(view)
        if not self.folder:
            return
        sample = {"time_ns": view["time_ns"], "devices": [
            {"name": device["name"], "counters": device["counters"], "programs": [
                {"pid": program["pid"], "comm": program["comm"], "counters": program["counters"]} for program in device["programs"]]}
            for device in view["devices"]]}
        with open(os.path.join(self.folder, "samples.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(sample) + "\n")
        if size_of(view) >= self.most:
            self.most = size_of(view)
            write_json(os.path.join(self.folder, "objects.json"), view)

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join(END_S)


def write_json(path, value):
    """A reader finds the old contents or the new ones."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".new", path)


class Recorder:
    """From start() to end() all of an instance is recorded. run: what run.json says; the caller adds status or signal."""

    FILES = ("packets.pcapng", "packets.old.pcapng", "samples.jsonl", "objects.json", "show.json", "findings.json", "run.json", "log.txt",
             "calls-*")

    def __init__(self, command, env, folder, mib=64):
        self.command, self.env, self.folder, self.mib = command, env, folder, mib
        self.capture = self.views = None
        self.run = {}

    def start(self, each=None):
        """False: no capture; it has said why."""
        os.makedirs(self.folder, exist_ok=True)
        for name in self.FILES:
            for path in glob.glob(os.path.join(glob.escape(self.folder), name)):
                os.unlink(path)
        write_json(os.path.join(self.folder, "run.json"), self.run)
        self.capture = process.start([self.command, "capture", "--both", "--last", str(self.mib),
                                      os.path.join(self.folder, "packets.pcapng")], self.env, stderr=subprocess.PIPE, text=True)
        if not self.capture.stderr.readline().startswith("capturing on "):
            return False
        self.views = Views(self.command, self.env, self.folder, each=each)
        return True

    def variables(self, env):
        """The environment of the program: its verbs go to the folder, and its log, unless its user wants that elsewhere."""
        folder = os.path.abspath(self.folder)
        return {"VERBS_LOG_FILE": os.path.join(folder, "log.txt"), "VERBS_LOG_LEVEL": LEVEL, **env, "RXE_DM_RECORD": folder}

    def shown(self, *options):
        """What `show --json` says; {}: the server does not answer."""
        done = subprocess.run([self.command, "show", "--json", *options], env=self.env, capture_output=True, text=True, errors="replace",
                              check=False, timeout=END_S)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def end(self):
        """Returns the last view."""
        shown = self.shown()
        write_json(os.path.join(self.folder, "show.json"), shown)
        write_json(os.path.join(self.folder, "findings.json"), self.shown("--findings"))
        calls.trim(self.folder)
        write_json(os.path.join(self.folder, "run.json"), self.run)
        if self.views:
            self.views.end()
        self.capture.send_signal(signal.SIGINT)
        self.capture.communicate(timeout=END_S)
        return shown
