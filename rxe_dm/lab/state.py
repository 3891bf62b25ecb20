# SPDX-License-Identifier: MIT
"""What a lab that is up leaves for the next command: one file in a folder of its user. The file names processes; a lab
whose processes have ended is down, whatever the file says."""

import contextlib
import dataclasses
import json
import os
import stat

from topology import Mistake


def folder():
    """The folder of this user's labs, made if it is not there. A folder of another user is refused."""
    path = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    path = os.path.join(path, f"rxe_dm-labs-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.getuid(), os.geteuid()) or found.st_mode & 0o022:
        raise Mistake(f"{path} is not a folder that only this user can write: remove it")
    return path


def start_time(pid):
    """Tells a process from a later one with its number, in clock ticks since boot. None: no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@dataclasses.dataclass
class Lab:
    """mode: 'namespaces' or 'loopback'. starter: the process of `lab up`, with its start time. keeper: the first process of the
    lab's namespaces, likewise; 0 without namespaces. holders: by node, a process in its network namespace, numbered as the lab's own processes see it."""
    name: str
    mode: str
    text: str      # of the topology's file
    network: str   # the addresses' /16
    folder: str = ""
    starter: int = 0
    starter_start: int = 0
    keeper: int = 0
    keeper_start: int = 0
    holders: dict = dataclasses.field(default_factory=dict)
    ports: dict = dataclasses.field(default_factory=dict)  # by link: the bridge and its port, where a switch has one
    notes: list = dataclasses.field(default_factory=list)
    cut: list = dataclasses.field(default_factory=list)    # links that are down

    def is_starting(self):
        return self.starter > 0 and start_time(self.starter) == self.starter_start

    def is_up(self):
        return self.mode == "loopback" or self.is_starting() or (self.keeper > 0 and start_time(self.keeper) == self.keeper_start)

    def path(self, name=""):
        return os.path.join(self.folder, name)

    def instance(self, node):
        """At most 32 characters: names have at most 20, and a program needs only its own node's to be distinct."""
        return f"{self.name[:11]}.{node}"

    def save(self):
        temporary = self.path("lab.json.new")
        with open(temporary, "w", encoding="utf-8") as f:
            json.dump(dataclasses.asdict(self), f, indent=1)
        os.replace(temporary, self.path("lab.json"))

    def remove(self):
        for name in os.listdir(self.folder):
            os.unlink(self.path(name))
        os.rmdir(self.folder)


def claim(lab):
    """Makes the folder of a new lab. A lab of that name that is up is refused; what one that has ended left goes."""
    lab.folder = os.path.join(folder(), lab.name)
    lab.starter, lab.starter_start = os.getpid(), start_time(os.getpid())
    try:
        os.mkdir(lab.folder, 0o700)
    except FileExistsError:
        old = load(lab.folder)
        if old is None or old.is_up():
            raise Mistake(f"lab {lab.name} is up already: 'rxe_dm lab down --name {lab.name}' ends it") from None
        old.remove()
        os.mkdir(lab.folder, 0o700)


def load(path):
    """None: another command is making or removing it now."""
    try:
        with open(os.path.join(path, "lab.json"), encoding="utf-8") as f:
            return Lab(**json.load(f))
    except (OSError, ValueError, TypeError):
        return None


def all_labs():
    inside = os.environ.get("RXE_DM_LAB_FOLDER")
    if inside:
        paths = [inside]
    else:
        top = folder()
        paths = [os.path.join(top, name) for name in sorted(os.listdir(top))]
    return [lab for lab in map(load, paths) if lab]


def find(name):
    """The lab that a command means: by its name, or the only one. Mistake: `lab up` is still making it."""
    labs = [lab for lab in all_labs() if name in (None, lab.name)]
    if not labs:
        raise Mistake(f"no lab {name or ''} is up: 'rxe_dm lab up FILE' starts one".replace("  ", " "))
    if len(labs) > 1:
        raise Mistake(f"{len(labs)} labs are up: choose one with --name: {', '.join(lab.name for lab in labs)}")
    if not os.environ.get("RXE_DM_LAB_FOLDER") and labs[0].is_starting():
        raise Mistake(f"lab {labs[0].name} is being started by process {labs[0].starter}: try again when that has ended")
    return labs[0]
