# SPDX-License-Identifier: MIT
"""The two ends of a case: our device in this network namespace, and rdma_rxe in the guest. Both start programs, say when one
listens, and know how their programs are to be addressed."""

import json
import os
import re

from guest import NET, NET6, TAP, Guest, favor
from instance import Instance, free_port
from program import Failure, until

# Of perftest, which says some failures and exits with 0; and of rdma_cm's programs.
TROUBLE = re.compile(r"Completion with error|Failed status|Couldn't|Unable to|wr mismatch|data mismatch|RDMA_CM_EVENT_\w*ERROR")
# Seconds that a program may take; the client's suite multiplies them by ten.
BOUND_S = 12


class Side:
    """What both have: programs, which end with the case."""

    def __init__(self):
        self.programs = []

    def end_programs(self):
        for program in self.programs:
            program.end()

    def forget_programs(self):
        self.programs.clear()

    def describe(self):
        for program in self.programs:
            print(program.describe())


class Ours(Side):
    """A device of this build on the tap."""

    name = "ours"
    tcp = f"{NET}.1"

    def __init__(self, build, link, v6):
        super().__init__()
        self.link = link
        self.v6 = v6
        if link == "ethernet":
            address = f"{NET6}:10/64" if v6 else f"{NET}.10/24"
            self.instance = Instance(build, "guest", address, self.tcp, link="ethernet", interface=TAP)
        else:
            self.instance = Instance(build, "guest", f"{NET6}:1" if v6 else f"{NET}.1", self.tcp)
        self.address = address.split("/")[0] if link == "ethernet" else self.instance.address
        self.device = ["-d", "rxe_dm0", "-x", "0"]
        self.private_data = os.path.join(build, "tests", "guest", "private_data")

    def __enter__(self):
        self.instance.__enter__()
        self.check("start")
        return self

    def __exit__(self, *how):
        return self.instance.__exit__(*how)

    def check(self, *args):
        done = self.instance.command(*args)
        if done.returncode != 0:
            raise Failure(f"rxe_dm {' '.join(args)}: {done.stderr}")
        return done.stdout

    def start(self, args, title):
        return self.watch(self.instance.start(args, title=f"{title}, ours"))

    def watch(self, program):
        """It ends with the case."""
        favor(program.pid)
        self.programs.append(program)
        return program

    def wait_tcp(self, program, port):
        program.wait_listening(port)

    def wait_cm(self, program):
        """Until its id listens."""
        program.wait_until(lambda: any(one["state"] == "listening" for one in self.instance.show().get("rdma_ids", [])), "listener")

    def wait_quiet(self):
        """Until the ids of ended programs have gone, so that none is taken for the next program's."""
        until(lambda: not self.instance.show().get("rdma_ids"), "end of all ids")

    def describe(self):
        super().describe()
        print(f"--- rxe_dm show\n{self.instance.command('show').stdout}")

    def forget_programs(self):
        for program in self.programs:
            program.log.close()
            self.instance.programs.remove(program)
        super().forget_programs()


class Linux(Side):
    """rdma_rxe and rdma_cm of the guest's kernel."""

    name = "Linux"
    private_data = "/build/private_data"
    tcp = Guest.address

    def __init__(self, guest, v6):
        super().__init__()
        self.guest = guest
        self.v6 = v6
        self.address = guest.address6 if v6 else guest.address
        self.device = ["-d", "rxe0", "-x", str(guest.index6 if v6 else guest.index)]

    def start(self, args, title):
        program = self.guest.start(args, title=f"{title}, Linux")
        self.programs.append(program)
        return program

    def listens(self):
        ids = self.guest.shell("rdma -j resource show cm_id")
        return any(one.get("state") == "LISTEN" for one in json.loads(ids or "[]"))

    def wait_tcp(self, program, port):
        program.wait_until(lambda: f":{port} " in self.guest.shell("ss -Hltn"), "its TCP socket listens")

    def wait_cm(self, program):
        program.wait_until(self.listens, "listener")

    def wait_quiet(self):
        until(lambda: not self.listens(), "end of all listeners in the guest")

    def describe(self):
        super().describe()
        self.guest.describe()


class Ends:
    """A case's server and client: {address} and {port} stand for the server's in the words of a command."""

    def __init__(self, server, client):
        self.server, self.client = server, client
        self.port = free_port()

    def words(self, side, command):
        values = {"private_data": side.private_data, "address": self.server.address, "port": self.port, "tcp": self.server.tcp, "own": side.address,
                  "device": " ".join(side.device), "family": "-f ipv6" if self.server.v6 else ""}
        return command.format(**values).split()

    def serve(self, command, how):
        """how: cm or tcp, what the server listens at."""
        program = self.server.start(self.words(self.server, command), title(command) + " (server)")
        if how == "tcp":
            self.server.wait_tcp(program, self.port)
        else:
            self.server.wait_cm(program)
        return program

    def join(self, command):
        return self.client.start(self.words(self.client, command), title(command) + " (client)")

    def pair(self, server, client, how="cm", result=None):
        """Both come to a good end, and the client prints the result."""
        programs = [self.serve(server, how), self.join(client)]
        for program in reversed(programs):
            need_good_end(program)
        if result and not re.search(result, programs[1].text(), re.MULTILINE):
            raise Failure(f"{programs[1].title}: no result like {result}")
        return [program.text() for program in programs]

    def refused(self, command, pattern):
        """A client that ends in a failure which says so."""
        program = self.join(command)
        status = program.wait(BOUND_S)
        if status == 0 or not re.search(pattern, program.text()):
            raise Failure(f"{program.title}: exit {status}, and no line like '{pattern}'")


def title(command):
    return command.split()[0].strip("{}")


def need_good_end(program):
    if program.wait(BOUND_S) != 0:
        raise Failure(f"{program.title}: exit {program.process.returncode}")
    if TROUBLE.search(program.text()):
        raise Failure(f"{program.title}: it speaks of '{TROUBLE.search(program.text()).group(0)}'")
