# SPDX-License-Identifier: MIT
"""rxe_dm run --worst: programs that rely on what is not promised fail, and correct ones pass with every seed."""

import functools
import os

import cases_fabrics
import cases_perftest
import cases_pingpong
import cases_rdmacm
import cases_rsocket
import cases_verbs
from instance import Instance
from program import Failure

SEEDS = 20
# A wrong program fails with one of these.
WRONG_SEEDS = 5
MISTAKES = ("send_buffer", "write_last_byte", "read_last_byte", "receive_early", "old_bytes", "first_queue_pair_first",
            "send_before_answer", "all_in_one_poll", "flag_by_another", "atomics_of_two", "reposted", "fresh_dm")
NOT_SO = "not so in round"


def mistake(build, name):
    """Wrong: passes where the device is kind, fails under --worst. Right: passes with every seed."""
    with Instance(build, f"worst_{name}") as instance:
        switches = ",+fill_receives" if name == "reposted" else ""
        program = [os.path.join(build, "tests", "client", "worst_relies"), name]
        instance.run(program + ["wrong"], env={"RXE_DM_WORST": ""})
        caught = []
        for seed in range(1, WRONG_SEEDS + 1):
            text = instance.run(program + ["wrong"], expect=None, env={"RXE_DM_WORST": f"{seed}{switches}"})
            if NOT_SO in text:
                caught.append(seed)
        print(f"{name}: caught with seeds {caught} of 1 to {WRONG_SEEDS}")
        if not caught:
            raise Failure(f"{name}: wrong, and passed with seeds 1 to {WRONG_SEEDS}")
        for seed in range(1, SEEDS + 1):
            instance.run(program + ["right"], env={"RXE_DM_WORST": f"{seed}{switches}"})


def option(build):
    """--worst and RXE_DM_WORST: the default seed, and what is refused before the program runs."""
    with Instance(build, "worst_option") as instance:
        instance.env.pop("RXE_DM_WORST", None)
        def worst(*options, **env):
            instance.env.update(env)
            done = instance.command("run", *options, "--", "sh", "-c", 'echo "[$RXE_DM_WORST]"')
            for name in env:
                del instance.env[name]
            return done.returncode, done.stdout.strip(), done.stderr
        for options, env, want in (((), {}, (0, "[]")), (("--worst",), {}, (0, "[1]")), (("--worst=7,fill",), {}, (0, "[7,fill]")),
                                   ((), {"RXE_DM_WORST": "3"}, (0, "[3]")), (("--worst=7",), {"RXE_DM_WORST": "3"}, (0, "[7]")),
                                   (("--worst=none",), {}, (0, "[none]")), (("--check",), {}, (0, "[1]")),
                                   (("--check",), {"RXE_DM_WORST": "3"}, (0, "[3]")), (("--check", "--worst=none"), {}, (0, "[none]"))):
            if worst(*options, **env)[:2] != want:
                raise Failure(f"{options} {env}: {worst(*options, **env)}, expected {want}")
        for options, env in ((("--worst=x",), {}), (("--worst=1,fil",), {}), ((), {"RXE_DM_WORST": "1,"})):
            status, text, why = worst(*options, **env)
            if status != 2 or text or "orst" not in why.lower():
                raise Failure(f"{options} {env}: {status} {text} {why}")


def under(build, case, plans):
    """A case whose programs are correct, with an unkind device."""
    for plan in plans:
        os.environ["RXE_TEST_WORST"] = str(plan)
        print(f"--worst={plan}", flush=True)
        case(build)


# Cases of other suites, whose programs rely on nothing more.
CORRECT = {name: module.CASES[name] for module, names in (
    (cases_pingpong, ("rc_pingpong_check", "rc_pingpong_dm_check_events", "uc_pingpong_check", "ud_pingpong_check",
                      "srq_pingpong_events", "xsrq_pingpong_events")),
    (cases_perftest, ("perftest_send_lat", "perftest_write_lat", "perftest_write_bw", "perftest_read_bw_8_qps", "perftest_atomic_bw",
                      "perftest_send_bw_events")),
    (cases_rdmacm, ("rdmacm_rping", "rdmacm_ucmatose", "rdmacm_udaddy", "rdmacm_connect")),
    (cases_rsocket, ("rsocket_rstream_bandwidth",)),
    (cases_fabrics, ("ucx_rc", "ucx_ud", "libfabric_pingpong")),
    (cases_verbs, ("verbs_rc", "verbs_ud", "verbs_srq", "verbs_xrc", "verbs_mw", "verbs_dm", "verbs_threads", "verbs_share",
                   "verbs_events", "verbs_errors")),
) for name in names}

# What these rely on: in verbs_rc no packet of a connection's last life is under way, and a send completes before the peer's answer
# to it; in verbs_dm new device memory is zero. udaddy posts one buffer for all receives (post_recvs() in librdmacm/examples/udaddy.c),
# and reads the GRH of the first datagram while the next ones arrive. test_tm_rndv takes the second completion of a CQ for that of a
# receive; the send's may come second (tm_traffic() in rdma-core's test_tag_matching.py).
WITHOUT = {"verbs_rc": "-qp_order,-completion_order", "verbs_dm": "-fill_dm", "rdmacm_udaddy": "-fill",
           "rdma_core_test_tag_matching": "-completion_order"}

CASES = {f"worst_{name}": functools.partial(mistake, name=name) for name in MISTAKES}
CASES["worst_option"] = option
for _name, _case in CORRECT.items():
    _plans = [f"{seed},{WITHOUT[_name]}" if _name in WITHOUT else seed for seed in (1, 2)]
    CASES[f"worst_passes_{_name}"] = functools.partial(under, case=_case, plans=_plans)
