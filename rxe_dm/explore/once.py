# SPDX-License-Identifier: MIT
"""`rxe_dm run --record DIR`, `--world FILE`: runs a program once, in a world, and keeps what is needed to look at the run.

argv: the path of the rxe_dm command, the number of its options, the options, then -- or the program and its arguments."""

import os
import signal
import subprocess
import sys
import time

import process
import recorder
import world

OURS = {"--record": True, "--record-size": True, "--world": True}


def split(options):
    """Ours as a dict, and those of `rxe_dm run`."""
    ours, others, rest = {}, [], list(options)
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=")
        if name in OURS:
            ours[name] = value if has_value else rest.pop(0)
        else:
            others.append(word)
    return ours, others


def setting(others, name, variable):
    """The value of an option of `rxe_dm run`, or of its variable."""
    for index, word in enumerate(others):
        if word == name and index + 1 < len(others):
            return others[index + 1]
        if word.startswith(name + "="):
            return word.partition("=")[2]
    return os.environ.get(variable)


class Killer:
    """Kills programs of a world some time after they opened the device."""

    def __init__(self, kills):
        self.kills, self.seen, self.order = dict(kills), {}, []

    def __call__(self, view):
        now = time.monotonic()
        for device in view.get("devices", []):
            for program in device["programs"]:
                if program["pid"] not in self.seen:
                    self.seen[program["pid"]] = now
                    self.order.append(program["pid"])
        for number, after_ms in list(self.kills.items()):
            if number <= len(self.order) and now - self.seen[self.order[number - 1]] >= after_ms / 1000:
                del self.kills[number]
                try:
                    os.kill(self.order[number - 1], signal.SIGKILL)
                except ProcessLookupError:
                    pass


class Once:
    """One run. command: the path of rxe_dm; env: with the instance; others: options of `rxe_dm run`."""

    def __init__(self, command, env, others, program, made):
        self.command, self.env, self.others, self.program, self.made = command, dict(env), others, program, made
        if made.worst():
            self.env["RXE_DM_WORST"] = made.worst()
        self.rules = []

    def rxe_dm(self, *args):
        return subprocess.run([self.command, *args], env=self.env, capture_output=True, text=True, errors="replace", check=False)

    def begin(self, alone):
        """Starts the server if it is to be alone, and adds the world's rules. '': done; else why not."""
        calls = ([["start"]] if alone else []) + [["fault", "add", *rule.split()] for rule in self.made.rules()]
        for call in calls:
            done = self.rxe_dm(*call)
            if done.returncode:
                return done.stderr.strip() or done.stdout.strip() or f"rxe_dm {' '.join(call)}: exit {done.returncode}"
            if call[0] == "fault":
                self.rules.append(done.stdout.strip())
        return ""

    def arguments(self):
        return [self.command, "run", *self.others, "--", *self.program]

    def finish(self, alone):
        if alone:
            self.rxe_dm("stop")
        else:
            for number in self.rules:
                self.rxe_dm("fault", "clear", number)


def status_of(code):
    return {"signal": -code} if code < 0 else {"status": code}


def run(once, recording, alone):
    why = once.begin(alone)
    if why:
        print(f"rxe_dm: {why}", file=sys.stderr)
        return 1
    killer = Killer(once.made.kills())
    env, views = once.env, None
    if recording:
        recording.run = {"command": once.program, "world": once.made.lines(), "began_ns": time.time_ns()}
        if not recording.start(killer):
            print("rxe_dm: no record: the capture did not start", file=sys.stderr)
            once.finish(alone)
            return 1
        env = recording.variables(env)
    elif once.made.kills():
        views = recorder.Views(once.command, env, None, 20, killer)
    child = subprocess.Popen(once.arguments(), env=env)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, lambda number, _: child.send_signal(number))
    code = child.wait()
    if recording:
        recording.run.update(status_of(code), ended_ns=time.time_ns())
        recording.end()
    if views:
        views.end()
    once.finish(alone)
    return 128 - code if code < 0 else code


def main(argv):
    command, count = argv[0], int(argv[1])
    ours, others = split(argv[2:2 + count])
    program = argv[2 + count:]
    if others and others[-1] == "--":
        others.pop()
    try:
        made = world.read(ours["--world"]) if "--world" in ours else world.World()
    except OSError as error:
        print(f"rxe_dm: --world {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except world.BadWorld as error:
        print(f"rxe_dm: --world {ours['--world']}: {error}", file=sys.stderr)
        return 2
    env, named = dict(os.environ), setting(others, "--instance", "RXE_DM_INSTANCE")
    alone = "--world" in ours and not named
    if "--world" in ours:
        env["RXE_DM_WORST"] = "none"  # --check is kind where the world is
    env["RXE_DM_INSTANCE"] = named or (f"world-{os.getpid()}" if alone else "default")
    recording = None
    if "--record" in ours:
        recording = recorder.Recorder(command, env, ours["--record"], int(ours.get("--record-size", 64)))
    return run(Once(command, env, others, program, made), recording, alone)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
