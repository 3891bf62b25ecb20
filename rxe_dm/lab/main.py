# SPDX-License-Identifier: MIT
"""`rxe_dm lab`: several hosts on one machine, each with a device for each of its links, from a file."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import enter
import loopback
import merge
import mpi
import namespaces
import shaping
import state
from topology import Mistake, parse

ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
COMPLETION = "--help\nup FILE\nexec\nshow\nlink\ncapture FILE\ndown"


def topology_of(lab):
    return parse(lab.text, lab.network)


def host(topology, name):
    node = topology.nodes.get(name)
    if node is None or node.kind != "linux":
        raise Mistake(f"'{name}' is no host of lab {topology.name}: {', '.join(n.name for n in topology.hosts())}")
    return node


def environment(lab, node):
    """What a program of a host has in its environment: the host's device server, and what the file adds."""
    env = {k: v for k, v in os.environ.items() if k not in ("RXE_DM_INSTANCE", "RXE_DM_ADDRESS")}
    env.update(node.env, RXE_DM_INSTANCE=lab.instance(node.name), RXE_DM_ADDRESS=",".join(node.addresses()))
    if lab.mode == "loopback":
        env[loopback.VARIABLE] = loopback.mark(lab)
        # Device servers publish their devices there, and what killed ones leave goes with the lab.
        env["RXE_DM_LAB_FOLDER"] = lab.folder
    return env


class Command:
    """One call of `rxe_dm lab`. path: of the rxe_dm command."""

    def __init__(self, path):
        self.path = path

    def output(self, lab, node, *args):
        """What `rxe_dm ARGS` prints in a host."""
        if lab.mode == "namespaces":
            return enter.output(lab, node.name, [self.path, *args], environment(lab, node))
        done = subprocess.run([self.path, *args], env=environment(lab, node), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Mistake(f"{node.name}: rxe_dm {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def run(self, lab, node, args, more=None):
        args = [self.path, "run", "--", *args]
        env = dict(environment(lab, node), **(more or {}))
        sys.stdout.flush()
        if lab.mode == "namespaces":
            return enter.run(lab, node.name, args, env)
        os.execve(self.path, args, env)

    def up(self, given):
        with open(given.file, encoding="utf-8") as f:
            text = f.read()
        why = None if given.mode == "loopback" else namespaces.why_not()
        if given.mode == "namespaces" and why:
            raise Mistake(f"this machine refuses network namespaces: {why}")
        mode = "loopback" if given.mode == "loopback" or why else "namespaces"
        network = namespaces.NETWORK if mode == "namespaces" else loopback.network()
        topology = parse(text, network)
        lab = state.Lab(topology.name, mode, text, network)
        state.claim(lab)
        lab.save()
        if mode == "loopback":
            lab.notes = ([f"this machine refuses network namespaces: {why}"] if why else []) + [loopback.NOTE]
        try:
            netem = namespaces.up(lab) if mode == "namespaces" else False
            lab.save()
            self.start_devices(lab, topology, netem)
        except (Mistake, OSError, KeyboardInterrupt):
            self.end(lab)
            raise
        print(describe(lab, topology))
        return 0

    def start_devices(self, lab, topology, netem):
        for node in topology.hosts():
            self.output(lab, node, "start")
            for i, interface in enumerate(node.interfaces):
                for rule in [] if netem else shaping.rules(topology, interface):
                    self.output(lab, node, "fault", "add", "--device", f"rxe_dm{i}", *rule.split())

    def end(self, lab):
        if lab.mode == "namespaces":
            namespaces.down(lab)
        else:
            loopback.end_programs(lab)
            for node in topology_of(lab).hosts():
                subprocess.run([self.path, "stop"], env=environment(lab, node), capture_output=True, check=False)
        lab.remove()

    def down(self, given):
        lab = state.find(given.name)
        self.end(lab)
        print(f"lab {lab.name} is down")
        return 0

    def exec(self, given):
        lab = running(given.name)
        topology = topology_of(lab)
        words = ([given.node] if given.node else []) + given.program
        if given.mpi:
            args = shlex.split(words[0]) if len(words) == 1 else words
            if not args:
                raise Mistake("name the launcher: rxe_dm lab exec --mpi 'mpirun -np 4 ./program'")
            return self.run(lab, topology.hosts()[0], args, mpi.environment(lab, topology, self.path))
        if len(words) < 2:
            raise Mistake("name a host and a program: rxe_dm lab exec NODE PROGRAM")
        return self.run(lab, host(topology, words[0]), words[1:])

    def agent(self, words):
        """What an MPI launcher calls in place of ssh, with options of ssh."""
        lab = running(None)
        name, line = mpi.agent_call(words)
        if name is None:
            raise Mistake("agent takes a host and a command")
        return self.run(lab, host(topology_of(lab), name), ["sh", "-c", line])

    def show(self, given):
        lab = running(given.name)
        topology = topology_of(lab)
        if given.json:
            nodes = {node.name: json.loads(self.output(lab, node, "show", "--json")) for node in topology.hosts()}
            links = [{"ends": [f"{end.node}:{end.name}" for end in link.ends], "down": i in lab.cut, "properties": link.words()}
                     for i, link in enumerate(topology.links)]
            print(json.dumps({"lab": lab.name, "mode": lab.mode, "notes": lab.notes, "links": links, "nodes": nodes}, indent=2))
            return 0
        print(describe(lab, topology))
        for node in topology.hosts():
            print(f"\n== {node.name}\n{self.output(lab, node, 'show').rstrip()}")
        return 0

    def link(self, given):
        lab = running(given.name)
        topology = topology_of(lab)
        index, on = topology.link_between(given.first, given.second), given.state == "up"
        if on == (index not in lab.cut):
            raise Mistake(f"the link of {given.first} and {given.second} is {given.state} already")
        if lab.mode == "namespaces":
            namespaces.set_link(lab, topology, index, on)
        else:
            self.set_link_by_rules(lab, topology, index, on)
        lab.cut = [i for i in lab.cut if i != index] if on else lab.cut + [index]
        lab.save()
        return 0

    def set_link_by_rules(self, lab, topology, index, on):
        """A rule that drops all comes before the link's own rules: all rules of the devices are made again."""
        for end in topology.links[index].ends:
            node = topology.nodes[end.node]
            if node.kind != "linux":
                continue
            device = ("--device", f"rxe_dm{node.interfaces.index(end)}")
            self.output(lab, node, "fault", "clear", *device)
            for rule in shaping.rules(topology, end) if on else ["drop"]:
                self.output(lab, node, "fault", "add", *device, *rule.split())

    def capture(self, given):
        """Captures of all devices run until Ctrl-C, or for a time; then one file is written."""
        lab = running(given.name)
        topology = topology_of(lab)
        limit = ["--seconds", str(given.seconds)] if given.seconds else []
        children, files = [], []
        for node in topology.hosts():
            for i, interface in enumerate(node.interfaces):
                file = tempfile.TemporaryFile()
                args = [self.path, "capture", "--device", f"rxe_dm{i}", *limit, "-"]
                children.append(self.fork(lab, node, args, file))
                files.append((f"{node.name}:rxe_dm{i} {interface.name}", file))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: [os.kill(pid, signal.SIGTERM) for pid in children])
        # A capture writes its file's head once it records.
        while not all(os.fstat(file.fileno()).st_size for _, file in files) and not os.waitid(os.P_ALL, 0, ENDED):
            time.sleep(0.02)
        print(f"capturing {len(files)} devices; Ctrl-C ends it", file=sys.stderr, flush=True)
        failed = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        data = merge.merge([(name, os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)) for name, file in files])
        with open(given.file, "wb") as f:
            f.write(data)
        if any(failed):
            raise Mistake(f"captures ended with {failed}; {given.file} has what they wrote")
        return 0

    def fork(self, lab, node, args, file):
        pid = os.fork()
        if pid == 0:
            os.dup2(file.fileno(), 1)
            env = environment(lab, node)
            if lab.mode == "namespaces":
                os._exit(enter.run(lab, node.name, args, env))
            os.execve(self.path, args, env)
        return pid


def running(name):
    lab = state.find(name)
    if not os.environ.get("RXE_DM_LAB_FOLDER") and not lab.is_up():
        raise Mistake(f"the processes of lab {lab.name} have been killed: 'rxe_dm lab down' removes what is left")
    return lab


def describe(lab, topology):
    lines = [f"lab {lab.name}: {len(topology.hosts())} hosts, {len(topology.links)} links, {lab.mode}"]
    for node in topology.hosts():
        devices = ", ".join(f"{i.name} {i.address} (rxe_dm{n})" for n, i in enumerate(node.interfaces))
        lines.append(f"  {node.name}: {devices}")
    for i, link in enumerate(topology.links):
        ends = " - ".join(f"{end.node}:{end.name}" for end in link.ends)
        lines.append(f"  {ends}: {'down' if i in lab.cut else link.words()}")
    return "\n".join(lines + [f"  note: {note}" for note in lab.notes])


def arguments(argv):
    parser = argparse.ArgumentParser(prog="rxe_dm lab", description="several hosts on one machine, from a file", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    up = commands.add_parser("up", help="make the hosts and links of a file")
    up.add_argument("file", metavar="FILE")
    up.add_argument("--mode", choices=("namespaces", "loopback"), help="default: namespaces where this machine permits them")
    run = commands.add_parser("exec", help="run a program on a host, which finds the host's devices")
    run.add_argument("--mpi", action="store_true", help="run an MPI launcher on the first host, with all hosts in its host file")
    run.add_argument("node", metavar="NODE", nargs="?")
    run.add_argument("program", metavar="PROGRAM", nargs=argparse.REMAINDER)
    show = commands.add_parser("show", help="show hosts, links and devices")
    show.add_argument("--json", action="store_true", help="as JSON")
    link = commands.add_parser("link", help="cut a link, or mend it")
    link.add_argument("first", metavar="NODE")
    link.add_argument("second", metavar="NODE")
    link.add_argument("state", choices=("down", "up"))
    capture = commands.add_parser("capture", help="write the packets of all devices to one pcapng file")
    capture.add_argument("--seconds", type=int, metavar="N", help="end after N seconds")
    capture.add_argument("file", metavar="FILE")
    down = commands.add_parser("down", help="end a lab and all its programs")
    for command in (run, show, link, capture, down):
        command.add_argument("--name", help="the lab, where several are up")
    return parser.parse_args(argv)


def main(argv):
    """argv: the path of the rxe_dm command, then its arguments."""
    if argv[1:] == ["--completion"]:
        print(COMPLETION)
        return 0
    given = None if argv[1:2] == ["agent"] else arguments(argv[1:])
    try:
        if given is None:
            return Command(argv[0]).agent(argv[2:])
        return getattr(Command(argv[0]), given.command)(given)
    except Mistake as error:
        print(f"rxe_dm lab: {error}", file=sys.stderr)
    except OSError as error:
        print(f"rxe_dm lab: {error.filename + ': ' if error.filename else ''}{error.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
