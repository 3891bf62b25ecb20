# SPDX-License-Identifier: MIT
"""rxe_dm run --check: each mistake is found, by its id and in the right functions, and its correction is without a finding."""

import ctypes
import functools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile

import cases_examples
import cases_fabrics
import cases_python
import cases_rdmacm
import cases_rsocket
from cases_sanitizers import KINDS, make
from cases_worst import WITHOUT
from instance import Instance
from program import Failure, Skip

# The mistake's id, and functions that its stacks show: of each stack one, in their order.
MISTAKES = {
    "mem_send_changed": ("RXE-MEM-001", "posts", "side_wait", "side_open"),
    "mem_receives_overlap": ("RXE-MEM-002", "posts_second", "posts_first"),
    "mem_send_overlaps": ("RXE-MEM-003", "sends", "receives"),
    "mem_deregistered": ("RXE-MEM-006", "deregisters", "receives", "side_open"),
    "mem_freed": ("RXE-MEM-004", "frees", "receives", "registers"),
    "mem_freed_failed": ("RXE-MEM-004", "frees", "receives", "registers"),
    "mem_unmapped": ("RXE-MEM-004", "unmaps", "receives", "registers"),
    "mem_returned": ("RXE-MEM-004", "side_wait", "sends"),
    "mem_stale": ("RXE-MEM-005", "sends", "frees", "registers"),
    "mem_arrival": ("RXE-MEM-007", "receives", "registers"),
    "mem_deregistered_for_peer": ("RXE-MEM-008", "deregisters", "writes", "side_open"),
    "mem_deregistered_apart": ("RXE-MEM-008", "deregisters", "writes", "side_open"),
    "mem_stale_apart": ("RXE-MEM-005", "reads", "frees"),
    "mem_freed_apart": ("RXE-MEM-005", "frees", "writes", "side_open"),
    "race_remote": ("RXE-RACE-001", "adds", "writes", "side_open"),
    "race_fence": ("RXE-RACE-002", "writes", "reads", "side_open"),
    "race_local": ("RXE-RACE-003", "sends", "writes", "side_open"),
    "race_remote_apart": ("RXE-RACE-001", "writes_later", "writes"),
    "race_fence_apart": ("RXE-RACE-002", "writes", "reads"),
    "race_local_apart": ("RXE-RACE-003", "sends", "writes", "side_open"),
    "race_reply_apart": ("RXE-RACE-003", "writes", "sends"),
    "race_flag_apart": ("RXE-RACE-003", "sends", "writes", "side_open"),
    "race_flag_dm_apart": ("RXE-RACE-003", "sends", "writes", "side_open"),
    "race_window_apart": ("RXE-RACE-003", "sends", "writes", "registers"),
    "race_dm": ("RXE-RACE-001", "adds", "writes", "registers"),
    "race_dm_apart": ("RXE-RACE-003", "sends", "writes", "registers"),
    "race_receive_apart": ("RXE-RACE-003", "receives", "reads", "side_open"),
    "race_later_apart": ("RXE-RACE-004", "writes_later", "writes"),
    "thread_domain": ("RXE-THREAD-001", "posts", "posts", "opens"),
    "thread_cq": ("RXE-THREAD-002", "polls", "polls", "opens"),
    "queue_ud_short": ("RXE-QUEUE-005", "receives", "side_open"),
    "queue_cq_overflow": ("RXE-QUEUE-001", "posts", "side_open"),
    "queue_unsignalled": ("RXE-QUEUE-002", "posts", "side_open"),
    "event_lost_wake_up": ("RXE-EVENT-001", "waits", "arms", "side_open"),
    "event_not_acked": ("RXE-EVENT-002", "destroys", "side_open"),
    "event_channel_in_use": ("RXE-EVENT-003", "destroys", "side_open", "side_open"),
    "event_async_not_acked": ("RXE-EVENT-004", "destroys", "side_open"),
    "life_leak_exit": ("RXE-LIFE-002", "registers"),
    "life_forked": ("RXE-LIFE-006", "polls", "side_open"),
    "life_leaks_all": ("RXE-LIFE-007", "opens"),
    "comp_on_error": ("RXE-COMP-001", "reads", "side_open"),
    "comp_imm": ("RXE-COMP-002", "reads", "side_open"),
    "comp_length": ("RXE-COMP-003", "reads", "side_open"),
    "comp_src_qp": ("RXE-COMP-004", "reads", "side_open"),
    "comp_poison": ("RXE-COMP-005", "posts"),
    "peer_mtu": ("RXE-PEER-001", "connects", "side_open", "side_open"),
    "peer_psn": ("RXE-PEER-002", "connects", "side_open", "side_open"),
    "peer_reads": ("RXE-PEER-003", "connects", "side_open", "side_open"),
    "peer_timeout": ("RXE-PEER-004", "connects", "side_open"),
    "peer_elsewhere": ("RXE-PEER-001", "connects", "side_open"),
    "queue_no_receive": ("RXE-QUEUE-003", "polls", "posts", "side_open"),
    "queue_rnr_forever": ("RXE-QUEUE-004", "connects", "side_open"),
    "queue_unpolled": ("RXE-QUEUE-006", "posts", "side_open", "side_open"),
    "queue_unread": ("RXE-QUEUE-006", "writes", "side_open", "side_open"),
    "queue_inline": ("RXE-QUEUE-007", "posts", "side_open"),
    "port_atomic": ("RXE-PORT-001", "posts", "side_open"),
    "port_dm_copy": ("RXE-PORT-002", "copies", "allocates"),
    "port_dm_align": ("RXE-PORT-004", "adds", "allocates"),
    "port_sges": ("RXE-PORT-003", "creates"),
    "port_early": ("RXE-PORT-005", "looks", "side_open"),
    "event_async_unread": ("RXE-EVENT-005", "destroys", "side_open"),
    "refusal_init": ("RXE-REFUSAL-001", "posts"),
    "peer_access": ("RXE-PEER-005", "posts", "side_open", "side_open"),
    "peer_type": ("RXE-PEER-006", "connects", "side_open", "side_open"),
    "peer_gid": ("RXE-PEER-007", "connects", "side_open", "side_open"),
    "life_leak_close": ("RXE-LIFE-001", "side_open", "closes"),
    "life_used_after": ("RXE-LIFE-003", "posts", "destroys", "side_open"),
    "life_ah_used_after": ("RXE-LIFE-003", "posts", "destroys", "side_connect"),
    "life_ah_used_built": ("RXE-LIFE-003", "posts", "destroys", "side_connect"),
    "life_twice": ("RXE-LIFE-004", "second", "first", "side_open"),
    "life_outstanding": ("RXE-LIFE-005", "destroys", "posts", "side_open"),
}
# With librdmacm.
MISTAKES_OF_CM = {
    "life_id_leak": ("RXE-LIFE-002", "makes"),
    "life_id_used_after": ("RXE-LIFE-003", "disconnects", "destroys", "cm_open"),
    "cm_events_not_acked": ("RXE-CM-001", "destroys", "serves", "cm_open"),
    "cm_own_event": ("RXE-CM-002", "destroys", "reads", "cm_open"),
    "cm_listener_event": ("RXE-CM-002", "destroys", "reads", "cm_open"),
    "cm_channel_in_use": ("RXE-CM-003", "destroys", "makes_id", "makes_channel"),
    "cm_private": ("RXE-CM-004", "connects", "cm_open"),
    "cm_no_qp": ("RXE-CM-005", "accepts", "cm_request"),
    "cm_depth": ("RXE-CM-006", "accepts", "cm_request"),
    "cm_not_disconnected": ("RXE-CM-007", "destroys", "cm_open"),
    "cm_has_qp": ("RXE-CM-008", "destroys", "cm_open", "makes_qp"),
}
MISTAKES.update(MISTAKES_OF_CM)
# Found by checks that are selected by their ids only.
ONLY_SELECTED = ("life_leaks_all", "race_later_apart")
FOUND = 66


def program_of(build, name="mem_send_changed"):
    path = os.path.join(build, "tests", "client", "mistakes", "mistakes_cm" if name in MISTAKES_OF_CM else "mistakes")
    if not os.access(path, os.X_OK):
        raise Skip(f"{path} is not built")
    return path


def checked(instance, args, *options):
    """Runs a program under --check; its exit status, output and findings."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "findings.json")
        done = instance.command("run", "--check", "--check-output", path, *options, *args)
        try:
            with open(path, encoding="utf-8") as f:
                found = json.load(f)["findings"]
        except FileNotFoundError:
            raise Failure(f"{args} wrote no findings: {done.stdout}{done.stderr}") from None
    return done.returncode, done.stdout + done.stderr, found


def functions(stack):
    return [frame.get("function") for frame in stack["frames"]]


def need_finding(found, check, names):
    """A finding of this id has a stack with each of the functions."""
    for finding in found:
        stacks = [functions(stack) for stack in finding["stacks"]]
        if finding["id"] == check and len(stacks) == len(names) and all(n in s for n, s in zip(names, stacks)):
            return
    raise Failure(f"no finding {check} with {names}: {json.dumps(found, indent=1)}")


def watches_memory():
    """Whether the kernel lets this process use the processor's debug registers, as RXE-PORT-005 does."""
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    word = ctypes.c_uint64(0)
    # struct perf_event_attr: a breakpoint of 8 bytes, for reads and writes, not of the kernel
    attr = struct.pack("<IIQQQQQIIQQ", 5, 72, 0, 1, 0, 0, 1 << 5 | 1 << 6, 0, 3, ctypes.addressof(word), 8)
    fd = ctypes.CDLL(None).syscall(number, attr, 0, -1, -1, 8) if number else -1
    if fd < 0:
        return False
    os.close(fd)
    return True


def mistake(build, name):
    check, *names = MISTAKES[name]
    if name == "port_early" and not watches_memory():
        raise Skip("no breakpoints by perf_event_open(2)")
    with Instance(build, "check") as instance:
        extra = [f"--check={check}"] if name in ONLY_SELECTED else []
        status, text, found = checked(instance, [program_of(build, name), name], *extra)
        if any(frame.get("function") for f in found for stack in f["stacks"] for frame in stack["frames"]):
            need_finding(found, check, names)
        elif check not in [f["id"] for f in found]:
            raise Failure(f"no finding {check}: {text}")
        errors = {f["id"] for f in found if f["level"] == "error"}
        # A call that fails, or an event of that, may be a note beside. What races with a send may also change its bytes.
        if errors - {check} - ({"RXE-MEM-001"} if check == "RXE-RACE-003" else set()):
            raise Failure(f"{name}: other findings: {text}")
        if not errors:
            need("rxe_dm: note " + check in text and status == 0, f"{name}: a note, status {status}, output {text}")
        elif status != FOUND or check not in text or name.split("_", maxsplit=1)[0].upper() not in check:
            raise Failure(f"{name}: status {status}, output {text}")
        status, text, found = checked(instance, [program_of(build, name), name, "right"], *extra)
        if status != 0 or found:
            raise Failure(f"the correction of {name}: status {status}, {text}")


def need(condition, what):
    if not condition:
        raise Failure(what)


def options(build):
    """Lists of checks, suppressions, exit status; what `rxe_dm show` has afterwards."""
    wrong = [program_of(build), "mem_send_changed"]
    with Instance(build, "check_options") as instance, tempfile.TemporaryDirectory() as folder:
        need(checked(instance, wrong, "--check=queue,life")[2] == [], "--check=queue,life finds mem")
        need(checked(instance, wrong, "--check=-RXE-MEM-001")[2] == [], "-RXE-MEM-001 does not leave it out")
        need(checked(instance, wrong, "--check=send-buffer-changed")[2], "a name does not select a check")
        need(checked(instance, wrong, "--check-exit", "5")[0] == 5, "--check-exit does nothing")
        need(checked(instance, wrong, "--check-exit", "0")[0] == 0, "--check-exit 0 is not the program's status")
        done = instance.command("run", "--check=nothing", "true")
        need(done.returncode == 2 and "nothing" in done.stderr, f"an unknown check: {done}")
        for rule, has in (("id:RXE-MEM-*", 0), ("func:^posts$", 0), ("obj:mistakes", 0), ("func:post", 0), ("func:^post$", 1)):
            path = os.path.join(folder, "suppressions")
            with open(path, "w", encoding="ascii") as f:
                f.write(f"# comment\n{rule}\n")
            found = checked(instance, wrong, "--check-suppressions", path)[2]
            need(len(found) == has or ":^" in rule or rule.startswith("func"), f"{rule}: {found}")
        found = checked(instance, [program_of(build), "life_leaks_all"])[2]
        need(found == [], f"what a global variable reaches is a leak: {found}")
        shown = json.loads(instance.command("show", "--findings", "--json").stdout)["findings"]
        need(any(f["id"] == "RXE-MEM-001" and f["times"] == 1 for f in shown), f"rxe_dm show --findings: {shown}")
        need("RXE-MEM-001" in instance.command("show", "--findings").stdout, "rxe_dm show --findings has no text")
        need("RXE-MEM-001" in instance.command("show", "--checks").stdout, "rxe_dm show --checks")


def without(build):
    """A library without checks warns, once, of RXE_DM_CHECK."""
    with Instance(build, "check_without") as instance:
        env = dict(instance.env, RXE_DM_CHECK="all", LD_LIBRARY_PATH=os.path.join(build, "lib", "verbs"))
        done = subprocess.run([program_of(build), "life_twice"], env=env, capture_output=True, text=True, timeout=60, check=False)
        need(done.returncode == 0 and done.stderr.count("'rxe_dm run --check'") == 1, f"{done}")
        done = subprocess.run([program_of(build), "life_twice"], env=dict(env, RXE_DM_CHECK=""), capture_output=True, text=True, timeout=60, check=False)
        need(done.returncode == 0 and "--check" not in done.stderr, f"{done}")


def sarif(build):
    with Instance(build, "check_sarif") as instance, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "findings.sarif")
        done = instance.command("run", "--check", "--check-output", path, program_of(build), "mem_send_changed")
        need(done.returncode == FOUND, f"{done}")
        with open(path, encoding="utf-8") as f:
            run = json.load(f)["runs"][0]
        result = run["results"][0]
        need(result["ruleId"] == "RXE-MEM-001" and result["level"] == "error", f"{result}")
        need("RXE-MEM-001" in [rule["id"] for rule in run["tool"]["driver"]["rules"]], "the rule is missing")
        for location in result["locations"]:
            place = location["physicalLocation"]
            need(place["artifactLocation"]["uri"].endswith(".c") and place["region"]["startLine"] > 0, f"{place}")


def ends(build):
    """The program's own end, where nothing is found; signals that are sent to the command reach the program."""
    with Instance(build, "check_ends") as instance:
        for status in (0, 7):
            done = instance.command("run", "--check", "sh", "-c", f"exit {status}")
            need(done.returncode == status, f"{done}")
        done = instance.command("run", "--check", "sh", "-c", "kill -TERM $$")
        need(done.returncode == -signal.SIGTERM, f"{done}")
        done = instance.command("run", "--check", "sh", "-c", "trap 'exit 9' TERM; kill -TERM $PPID; while :; do :; done")
        need(done.returncode == 9, f"{done}")
        done = instance.command("run", "--check", "/nonexistent")
        need(done.returncode == 127, f"{done}")


def unkind(build):
    """The device is unkind meanwhile: a program that relies on more fails, and hears so where no check says why."""
    relies = [os.path.join(build, "tests", "client", "worst_relies"), "fresh_dm", "wrong"]
    with Instance(build, "check_unkind") as instance:
        instance.env.pop("RXE_DM_WORST", None)
        done = instance.command("run", "--check", "--", *relies)
        need(done.returncode == 1 and "(--worst=1)" in done.stderr, f"{done}")
        done = instance.command("run", "--check", "--worst=none", "--", *relies)
        need(done.returncode == 0 and "--worst=" not in done.stderr, f"{done}")


def whole_reports(build):
    """A finding is printed by one write(2), so the program's output cannot split it. Standard error is a socket that keeps the
    bounds of writes."""
    with Instance(build, "check_whole") as instance:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            done = subprocess.run([instance.command_path, "run", "--check", program_of(build), "mem_send_changed"], env=instance.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, timeout=60, check=False)
            theirs.close()
            reports = [text for text in iter(lambda: ours.recv(1 << 16).decode(), "") if "RXE-MEM-001" in text]
        need(done.returncode == FOUND and len(reports) == 1, f"status {done.returncode}, {len(reports)} writes: {reports}")
        need(re.search(r"\Arxe_dm: RXE-MEM-001 [^\0]*\n  remedy: .*\n\Z", reports[0]), f"a part of a report: {reports}")


def exit_in_handler(build):
    """A signal interrupts the layer, and its handler calls exit(3): most of several runs get there."""
    with Instance(build, "check_exit") as instance:
        for _ in range(8):
            done = instance.command("run", "--check", os.path.join(build, "tests", "client", "exit_in_handler"))
            need(done.returncode == 7, f"{done}")


# Programs that are right but for what is left out, each a true defect of the program, as the end of docs/CHECKS.md explains:
# RXE-MEM-002 and 003: one buffer for all receives, and for sends as well (pp_post_recv() of the pingpongs, the rings of
# perftest, whose bytes nobody reads). RXE-MEM-001: the answer to a pingpong comes into the buffer before the send is
# complete. RXE-LIFE-001: ib_send_bw leaves its receive CQ. RXE-LIFE-005: ibv_srq_pingpong destroys queue pairs before
# their last sends are complete.
ONE_BUFFER = "-RXE-MEM-002,-RXE-MEM-003"
PINGPONG = ONE_BUFFER + ",-RXE-MEM-001"
CLEAN = {
    "rc_pingpong": (["ibv_rc_pingpong", "-g", "0", "-n", "200"], PINGPONG),
    "rc_pingpong_events": (["ibv_rc_pingpong", "-g", "0", "-n", "200", "-e"], PINGPONG),
    "uc_pingpong": (["ibv_uc_pingpong", "-g", "0", "-n", "200"], PINGPONG),
    "ud_pingpong": (["ibv_ud_pingpong", "-g", "0", "-n", "200"], PINGPONG),
    "srq_pingpong": (["ibv_srq_pingpong", "-g", "0", "-n", "200"], PINGPONG + ",-RXE-LIFE-005"),
    "write_bw": (["ib_write_bw", "-F", "-x", "0", "-n", "500"], "all"),
    "send_bw": (["ib_send_bw", "-F", "-x", "0", "-n", "500"], ONE_BUFFER + ",-RXE-LIFE-001"),
    "read_bw": (["ib_read_bw", "-F", "-x", "0", "-n", "500"], ONE_BUFFER),
}


def clean(build, name):
    args, checks = CLEAN[name]
    with Instance(build, "check_clean", options=[f"--check={checks}"]) as instance:
        instance.pair(args)


def sanitized(build, kind):
    """Memory that ends in a program with a sanitizer's runtime, which has an allocator of its own; what the sanitizer finds it still finds."""
    compiler, flags, _ = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder, Instance(build, "check_sanitized") as instance:
        path = make(folder, compiler, flags)
        status, text, found = checked(instance, [path], "--check=RXE-MEM-004")
        need(status == 0 and not found, f"{kind}: status {status}, {text}")
        status, text, found = checked(instance, [path, "freed"], "--check=RXE-MEM-004")
        seen = [] if "-static-libasan" in flags else ["RXE-MEM-004"]  # that runtime exports neither free(3) nor its hooks
        need(status == (FOUND if seen else 0) and [f["id"] for f in found] == seen, f"{kind}: status {status}, {text}")
        status, text, found = checked(instance, [path, "overflow"], "--check=RXE-MEM-004")
        need(status not in (0, FOUND) and "heap-buffer-overflow" in text and not found, f"{kind}: status {status}, {text}")


def passes(build, name, case, checks):
    """A case of another suite with each of its programs under --check: a finding is the program's exit status."""
    os.environ["RXE_TEST_CHECK"] = checks
    if name in WITHOUT:  # it relies on more than is promised, and would fail or hang
        os.environ["RXE_TEST_WORST"] = "1," + WITHOUT[name]
    case(build)


# UCX destroys queue pairs without a completion of its last acknowledgements, and after the memory of their receives. It uses the memory of a datagram
# again that its peer has acknowledged, without the completion of the send.
OF_UCX = "-RXE-LIFE-005,-RXE-MEM-004,-RXE-MEM-001"
# rping writes its next message into the buffer of a send whose completion it may not have polled.
OF_RPING = "-RXE-MEM-001"
# libfabric over ofi_rxm leaves connected ids, their channel and queue pairs.
OF_LIBFABRIC = "-RXE-CM-003,-RXE-CM-007,-RXE-LIFE-002,-RXE-LIFE-005"
# rdma-core's tests have one region for sends and receives, and close it before the queue pairs with the last receives. Some are wrong on purpose.
OF_RDMA_CORE = ONE_BUFFER + ",-RXE-MEM-004,-RXE-MEM-006,-RXE-MEM-007"
# Programs of other suites, and what is left out of the checks, as above.
PASSES = {name: (module.CASES[name], checks) for module, names in (
    (cases_rdmacm, {"rdmacm_rping": OF_RPING, "rdmacm_rping_own_qp": OF_RPING, "rdmacm_rdma_server": "all", "rdmacm_rdma_xserver": "all",
                    "rdmacm_ucmatose": ONE_BUFFER, "rdmacm_udaddy": ONE_BUFFER + ",-RXE-LIFE-005,-RXE-QUEUE-002",
                    "rdmacm_mckey": ONE_BUFFER + ",-RXE-LIFE-005,-RXE-QUEUE-002", "rdmacm_cmtime": "-RXE-EVENT-003",
                    "rdmacm_fio_verbs": "-RXE-EVENT-002,-RXE-EVENT-003", "rdmacm_qperf": "all"}),
    (cases_python, {"rdma_core_test_pd": "all", "rdma_core_test_addr": "all", "rdma_core_test_qp": "all", "rdma_core_test_fork": "all",
                    "rdma_core_test_mr": OF_RDMA_CORE, "rdma_core_test_odp": OF_RDMA_CORE, "rdma_core_test_qpex": OF_RDMA_CORE,
                    "rdma_core_test_cqex": OF_RDMA_CORE, "rdma_core_test_cq_events": OF_RDMA_CORE,
                    "rdma_core_test_relaxed_ordering": OF_RDMA_CORE, "rdma_core_test_flow": OF_RDMA_CORE,
                    "rdma_core_test_tag_matching": OF_RDMA_CORE + ",-RXE-MEM-001",
                    "rdma_core_test_parent_domain": OF_RDMA_CORE, "rdma_core_test_cq": "-RXE-LIFE-005",
                    "rdma_core_test_atomic": "-RXE-PEER-005,-RXE-PORT-001"}),
    (cases_rsocket, {"rsocket_rstream_blocking": "all", "rsocket_udpong_echo": "all", "rsocket_rstream_bandwidth": "all",
                     "rsocket_riostream_verify": "-RXE-MEM-008"}),
    (cases_examples, {f"example_{name}": "all" for name in ("memory_window", "dm_atomics", "dm_share", "parent_domain", "flow", "umem_share",
                                                            "dmah")}),
    (cases_fabrics, {"libfabric_pingpong": "all", "ucx_rc": OF_UCX, "ucx_ud": OF_UCX, "ucx_sockaddr": OF_UCX, "openmpi_ucx": OF_UCX,
                     "openmpi_rxd": "-RXE-LIFE-005", "openmpi_rxm": OF_LIBFABRIC, "mpich_ucx": OF_UCX}),
) for name, checks in names.items()}


CASES = {f"check_{name}": functools.partial(mistake, name=name) for name in MISTAKES}
CASES.update({"check_options": options, "check_sarif": sarif, "check_without": without, "check_ends": ends, "check_unkind": unkind,
              "check_whole_reports": whole_reports, "check_exit_in_handler": exit_in_handler})
CASES.update({f"check_clean_{name}": functools.partial(clean, name=name) for name in CLEAN})
CASES.update({f"check_sanitized_{kind}": functools.partial(sanitized, kind=kind) for kind in ("gcc_address", "gcc_address_static", "clang_address")})
CASES.update({f"check_passes_{name}": functools.partial(passes, name=name, case=case, checks=checks) for name, (case, checks) in PASSES.items()})
