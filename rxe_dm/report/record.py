# SPDX-License-Identifier: MIT
"""What a report is made from: one capture, or the folder that `rxe_dm run --record` wrote. A file that is missing from the folder,
or that ends in the middle, leaves its part of the report out."""

import json
import os

import calls
import pcapng

PACKETS = ("packets.old.pcapng", "packets.pcapng")
LOG_LINES = 200


class Record:
    """packets by time; processes: their calls (calls.Process); findings: of --check; missing: packets that the capture lost; shown: `rxe_dm show --json` at the end; objects: the same while the
    programs had most objects; run: command and status; samples: counters over time; log: the last lines."""

    def __init__(self, title):
        self.title = title
        self.packets, self.missing = [], 0
        self.shown, self.objects, self.run, self.samples, self.log = {}, {}, {}, [], []
        self.processes, self.findings = [], []

    def devices(self):
        return self.shown.get("devices", [])

    def failures(self):
        """Failures of queue pairs, then of connections, as `show --json` has them."""
        return [one for device in self.devices() for one in device.get("failures", [])]

    def faults(self):
        return [one for device in self.devices() for one in device.get("faults", [])]


def parsed(path):
    """The JSON object of a file; {}: there is none that is whole."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def parsed_lines(path):
    found = []
    for line in text_lines(path):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def text_lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def load_folder(folder):
    record = Record(os.path.basename(os.path.abspath(folder)))
    names = [name for name in PACKETS if os.path.exists(os.path.join(folder, name))]
    for name in names:
        packets, missing = pcapng.read(os.path.join(folder, name))
        record.packets += packets
        record.missing += missing
    record.shown = parsed(os.path.join(folder, "show.json"))
    record.objects = parsed(os.path.join(folder, "objects.json")) or record.shown
    record.run = parsed(os.path.join(folder, "run.json"))
    record.samples = parsed_lines(os.path.join(folder, "samples.jsonl"))
    record.findings = parsed(os.path.join(folder, "findings.json")).get("findings", [])
    record.processes = calls.read_folder(folder)
    record.log = text_lines(os.path.join(folder, "log.txt"))[-LOG_LINES:]
    if not names and not record.shown:
        raise pcapng.NotACapture(f"{folder} has neither packets.pcapng nor show.json: 'rxe_dm run --record DIR' writes such a folder")
    return record


def load(path):
    """Raises OSError or pcapng.NotACapture."""
    if os.path.isdir(path):
        return load_folder(path)
    record = Record(os.path.basename(path))
    record.packets, record.missing = pcapng.read(path)
    return record
