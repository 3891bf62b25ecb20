# SPDX-License-Identifier: MIT
"""Every verb has a bad-input case in tests/client/verbs_bad*.c, or a reason not to have one: the exported ones of symbols.tsv that
are written in C, and the inline ones of verbs.h.

usage: check_bad_input.py SOURCE_ROOT [VERBS_H]"""

import glob
import os
import re
import sys

CONTRACT = "fills or reads structures of the caller's: a null pointer is the C language's business"
DATA_PATH = "data path, inline: the object is read before the library sees it, and no look-up is paid for each request; null lists," \
            " bad work requests and states are in verbs_bad.c, other processes' objects in verbs_fork.c"
READS = "reads the completion that start_poll or next_poll found"

REASONS = {
    "ibv_copy_ah_attr_from_kern": CONTRACT, "ibv_copy_qp_attr_from_kern": CONTRACT,
    "ibv_copy_path_rec_from_kern": CONTRACT, "ibv_copy_path_rec_to_kern": CONTRACT,
    "ibv_get_sysfs_path": "has no argument", "ibv_read_sysfs_file": CONTRACT,
    "ibv_fork_init": "has no argument", "ibv_is_fork_initialized": "has no argument",
    "ibv_dofork_range": "does nothing with its arguments", "ibv_dontfork_range": "does nothing with its arguments",
    "ibv_get_device_list": "its one argument may be null", "__ibv_get_device_list": "its one argument may be null",
    "___ibv_query_port": "calls the port query operation, which checks", "verbs_get_ctx": "arithmetic",
    "ibv_inc_rkey": "arithmetic", "ibv_flow_label_to_udp_sport": "arithmetic",
    "ibv_is_qpt_supported": "arithmetic", "ibv_next_poll": READS, "ibv_end_poll": READS,
    "ibv_post_srq_recv": DATA_PATH, "ibv_post_srq_ops": "data path, inline; bad work requests are in verbs_tag.c", "ibv_post_wq_recv": DATA_PATH,
    "rxe_dm_mlx5_calls": "between our own libraries", "rxe_dm_refuse": "between our own libraries",
    "rxe_dm_refuse_aloud": "between our own libraries", "rxe_dm_report_refusal": "between our own libraries",
    "rxe_dm_last_refusal": "between our own libraries", "rxe_dm_noted_refusal": "between our own libraries",
    "ibv_wr_opcode_str": "private, no header declares it; its table is looked up like the others of names_and_rates",
    "ibv_query_gid_type": "private, no header declares it; shares its look-up with ibv_query_gid",
    "verbs_allow_disassociate_destroy": "a byte, no function",
}
NOT_BUILT = re.compile(r"(flow_action|xrcd|tso|xrc_srqn|atomic_write)")
BUILDERS = re.compile(r"^ibv_(wr_(atomic|rdma|send|bind_mw|local_inv|set_ud|set_inline_data_list|set_sge_list)|wc_read)")


def exported(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            node, _, rest = line.rstrip("\n").partition("\t")
            name, _, how = rest.partition("\t")
            if node and how == "code":
                yield name


def inline(path):
    if not path or not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for found in re.finditer(r"^static inline [^;{]*?\b(\w+)\s*\(", text, re.MULTILINE):
        yield found.group(1)


def main():
    root = sys.argv[1]
    header = sys.argv[2] if len(sys.argv) > 2 else "/usr/include/infiniband/verbs.h"
    cases = ""
    for path in glob.glob(os.path.join(root, "tests/client/verbs_bad*.c")):
        with open(path, encoding="utf-8") as f:
            cases += f.read()
    names = set(exported(os.path.join(root, "lib/abi/symbols.tsv"))) | set(inline(header))
    missing, tried, reasoned = [], 0, 0
    for name in sorted(names):
        called = re.search(rf"\b{name.lstrip('_')}\)?\(", cases)
        if called:
            tried += 1
        elif name in REASONS or NOT_BUILT.search(name) or BUILDERS.search(name):
            reasoned += 1
        else:
            missing.append(name)
    for name in missing:
        print(f"{name}: no bad-input case in tests/client/verbs_bad*.c, and no reason")
    for name in sorted(REASONS):
        if re.search(rf"\b{name}\(", cases):
            print(f"{name}: has a case now, so it needs no reason")
            missing.append(name)
    print(f"{tried} verbs with bad-input cases, {reasoned} with a reason to have none")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
