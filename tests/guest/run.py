#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our device against Linux's rdma_rxe and rdma_cm: a group of cases with one guest. Exit 0, 1, or 77 when it cannot run here.

usage: run.py --list | run.py GROUP [--only WORDS] --build DIR      --only: the cases whose name has these words in it

Everything runs in network, process and mount namespaces of its own, so nothing stays when it ends, however it ends. The
emulated processors stand still for a second where the host is busy: a case that fails once, and then passes three times, is
flaky, and named so."""

import argparse
import json
import os
import signal
import sys
import time
import traceback

from guest import Guest, favor, inside, need_guest
from cases import CM, DATAGRAMS, EIGHT, FEW, LOSSY, LOSSY_CM, RC, SRQ, by_cm, connected, plain
from iser import ISER
from program import Failure, Skip
from sides import Ends, Linux, Ours

REPEATS = 3


class Group:
    """Cases over one link and one family of addresses. servers: at which end the server may be."""

    def __init__(self, cases, link="udp", v6=False, mtu=1500, rules=(), servers=("ours", "Linux")):
        self.cases, self.link, self.v6, self.mtu, self.rules, self.servers = cases, link, v6, mtu, rules, servers


IPV4 = {**connected(CM), **plain(RC + DATAGRAMS + SRQ), **by_cm(EIGHT)}
IPV6 = {**connected(CM), **plain(FEW)}
LOSSES = {**connected(LOSSY_CM), **plain(LOSSY)}
LOSS = "drop dir=any probability=2%"
GROUPS = {
    "udp_ipv4": Group(IPV4),
    "udp_ipv6": Group(IPV6, v6=True, mtu=9000),
    "ethernet_ipv4": Group(IPV4, "ethernet", mtu=9000),
    "ethernet_ipv6": Group(IPV6, "ethernet", v6=True),
    "udp_loss": Group(LOSSES, rules=[LOSS]),
    "ethernet_loss": Group(LOSSES, "ethernet", v6=True, mtu=9000, rules=[LOSS]),
    "udp_iser": Group(ISER, mtu=9000, servers=("ours",)),
    "ethernet_iser": Group(ISER, "ethernet", servers=("ours",)),
}


def run_case(name, function, server, client):
    """What went wrong, or None."""
    try:
        function(Ends(server, client))
        return None
    except Failure as why:
        print(f"--- {name}: {why}")
    except Exception:  # a flaw of the test itself: say where, and fail
        traceback.print_exc(file=sys.stdout)
    for side in (server, client):
        side.end_programs()
        side.describe()
    return "failed"


def run_once(name, function, server, client):
    """True when it passed; nothing of it is left for the next one."""
    begun = time.monotonic()
    failed = run_case(name, function, server, client)
    for side in (server, client):
        side.end_programs()
        side.forget_programs()
        side.wait_quiet()
    print(f"{'FAILED' if failed else 'ok'}: {name} ({time.monotonic() - begun:.0f} s)", flush=True)
    return not failed


class Results:
    """What became of each case."""

    def __init__(self):
        self.passed, self.flaky, self.failed = 0, [], []

    def try_case(self, name, function, server, client):
        """A case that fails is repeated: it has failed when it fails again."""
        if run_once(name, function, server, client):
            self.passed += 1
        elif all(run_once(name, function, server, client) for _ in range(REPEATS)):
            self.flaky.append(name)
        else:
            self.failed.append(name)

    def close(self):
        for name in self.flaky:
            print(f"flaky: {name} (1 of {1 + REPEATS})")
        for name in self.failed:
            print(f"FAILED: {name}")
        print(f"{self.passed} passed, {len(self.failed)} failed, {len(self.flaky)} flaky")
        return 1 if self.failed or not self.passed else 0


def run_group(group, build, only):
    results = Results()
    with Guest(build, group.mtu) as guest, Ours(build, group.link, group.v6) as ours:
        linux = Linux(guest, group.v6)
        for rule in group.rules:
            ours.check("fault", "add", *rule.split())
        for name, function in group.cases.items():
            for server, client in ((ours, linux), (linux, ours)):
                title = f"{name}, {client.name} to {server.name}"
                if server.name in group.servers and only in title:
                    results.try_case(title, function, server, client)
        need_fired(ours, group.rules)
    return results.close()


def need_fired(ours, rules):
    """The rules of a group did something."""
    for rule in json.loads(ours.check("fault", "list", "--json")) if rules else ():
        print(f"{rule['rule']}: {rule['fired']} packets")
        if rule["fired"] == 0:
            raise Failure("a rule did nothing: the test tested nothing")


def run(name, build, only):
    try:
        return run_group(GROUPS[name], build, only)
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    except Failure as why:
        print(f"FAILED: {why}")
        return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("group", nargs="?", choices=GROUPS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--build")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner timed out: end what was started
    if options.list:
        print("\n".join(GROUPS))
        return 0
    if not options.inside:
        try:
            need_guest()
        except Skip as why:
            print(f"skipped: {why}")
            return 77
        inside(sys.argv)
    favor()
    return run(options.group, os.path.realpath(options.build), options.only)


if __name__ == "__main__":
    sys.exit(main())
