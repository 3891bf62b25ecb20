# SPDX-License-Identifier: MIT
"""perftest between two processes: every test program, with the options that apply to it."""

import functools
import re

from instance import Instance
from program import Failure, until

# A row of results: #bytes, then numbers.
ROW = re.compile(r"^ *\d+[ \t]+\d+([ \t]+-?[\d.naif]+){2,}[ \t]*$", re.MULTILINE)
TROUBLE = re.compile(r"Completion with error|Failed status|Sanitizer: |runtime error:|Couldn't|Unable to",
                     re.IGNORECASE)


def perftest(build, name, args, sizes=1):
    with Instance(build, name) as instance:
        for text in instance.pair(args + ["-F", "-x", "0"], timeout_s=150):
            if TROUBLE.search(text):
                raise Failure(f"{' '.join(args)}: it speaks of '{TROUBLE.search(text).group(0)}'")
        if len(ROW.findall(text)) < sizes:
            raise Failure(f"{' '.join(args)}: {len(ROW.findall(text))} rows of results, not {sizes}")


def outstanding(build, verb):
    """128 READs or atomics of one queue pair at once, as many as rdma_rxe allows. perftest lowers -o to the device's maximum without an
    error, so its head must have the number. A queue of 128 and lists of 128 post them together."""
    with Instance(build, f"{verb}_128") as instance:
        for text in instance.pair([f"ib_{verb}_bw", "-o", "128", "-t", "128", "-l", "128", "-n", "1280", "-F", "-x", "0"]):
            if TROUBLE.search(text) or not ROW.search(text):
                raise Failure(f"ib_{verb}_bw -o 128: no result")
            if not re.search(r"^ Outstand reads +: 128$", text, re.MULTILINE):
                raise Failure(f"ib_{verb}_bw -o 128: less than 128 at once")


RAW_MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")


def raw_pair(here, there, program, frames=400):
    """Nothing but frames passes between the two sides of a raw program, and those that find no flow or receive are lost. So a client
    that does not end, because its server was not ready, is started again. The server posts receives for 400 frames."""
    def start(instance, role, own, other):
        return instance.start(["stdbuf", "-oL", program, f"--{role}", "-d", "rxe_dm0", "-B", RAW_MACS[own], "-E", RAW_MACS[other],
                               "-n", str(frames), "-s", "1000", "-F"], title=f"{program} {role}")

    def served():
        client = start(there, "client", 0, 1)
        try:
            until(lambda: not client.running() and not server.running(), "end of both", 1)
        except Failure:
            client.end()
        return not server.running()
    server = start(here, "server", 1, 0)
    server.wait_for_line("MAC attached")
    until(served, f"end of {program}")
    for side in (server, there.programs[-1]):
        if side.wait(60) != 0 or TROUBLE.search(side.text()):
            raise Failure(f"{program}: {side.text()}")
        if not re.search(rf"^ *1000[ \t]+{frames}", side.text(), re.MULTILINE):
            raise Failure(f"{program}: no row of results: {side.text()}")


def raw(build, program):
    """Over the private wire of a device."""
    with Instance(build, program) as instance:
        raw_pair(instance, instance, program)


def matrix():
    """name: arguments, number of rows"""
    rows = {}
    for verb in ("send", "write", "read", "atomic"):
        for kind in ("lat", "bw"):
            tool = f"{verb}_{kind}"
            program = f"ib_{tool}"
            rows[tool] = [program], 1
            if verb != "atomic":
                rows[f"{tool}_all_sizes"] = [program, "-a", "-n", "6"], 23
            if verb != "write":
                rows[f"{tool}_events"] = [program, "-e", "-n", "500"], 1
        program = f"ib_{verb}_bw"
        rows[f"{verb}_bw_8_qps"] = [program, "-q", "8", "-n", "500"], 1
        rows[f"{verb}_bw_bidirectional"] = [program, "-b", "-n", "1000"], 1
        if verb != "atomic":  # perftest excludes it
            rows[f"{verb}_bw_odp"] = [program, "--odp", "-n", "500"], 1
    rows["atomic_bw_cmp_swap"] = ["ib_atomic_bw", "-A", "CMP_AND_SWAP"], 1
    for verb in ("send", "write"):
        for kind in ("lat", "bw"):
            rows[f"{verb}_{kind}_uc"] = [f"ib_{verb}_{kind}", "-c", "UC"], 1
    for verb in ("send", "write", "read", "atomic"):
        for kind in ("lat", "bw"):
            rows[f"{verb}_{kind}_xrc"] = [f"ib_{verb}_{kind}", "-c", "XRC", "-n", "500"], 1
    rows["send_bw_xrc_8_qps"] = ["ib_send_bw", "-c", "XRC", "-q", "8", "-n", "200"], 1
    rows["send_lat_ud"] = ["ib_send_lat", "-c", "UD"], 1
    rows["send_bw_ud"] = ["ib_send_bw", "-c", "UD", "-s", "1024"], 1
    rows["send_bw_ud_odp"] = ["ib_send_bw", "-c", "UD", "-s", "1024", "--odp", "-n", "500"], 1
    rows["send_bw_ud_8_qps"] = ["ib_send_bw", "-c", "UD", "-s", "1024", "-q", "8", "-n", "200"], 1
    rows["send_bw_srq"] = ["ib_send_bw", "--use-srq", "-n", "500"], 1
    rows["write_bw_mtu4096"] = ["ib_write_bw", "-m", "4096"], 1
    rows["send_lat_old_post"] = ["ib_send_lat", "--use_old_post_send"], 1
    rows["write_bw_post_list"] = ["ib_write_bw", "-l", "16", "-s", "64", "-n", "1600"], 1
    rows["write_lat_inline"] = ["ib_write_lat", "-I", "64", "-s", "64"], 1
    rows["send_bw_hugepages_off_1m"] = ["ib_send_bw", "-s", "1048576", "-n", "50"], 1
    # perftest's own numbers are 1000, and 5000 of some programs.
    return {name: (args if "-n" in args else args + ["-n", "300" if args[0].endswith("_lat") else "1000"], sizes)
            for name, (args, sizes) in rows.items()}


CASES = {f"perftest_{name}": functools.partial(perftest, name=name, args=args, sizes=sizes)
         for name, (args, sizes) in matrix().items()}
CASES.update({f"perftest_{program}": functools.partial(raw, program=program) for program in ("raw_ethernet_bw", "raw_ethernet_lat")})
CASES.update({f"perftest_{verb}_bw_128_outstanding": functools.partial(outstanding, verb=verb) for verb in ("read", "atomic")})
