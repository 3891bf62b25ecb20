# SPDX-License-Identifier: MIT
"""The parts that a build may leave out (meson_options.txt), and the cases that need them."""

import fnmatch

NEEDED_BY = {
    "persistence": ["verbs_flush"],
    "raw": ["*_raw", "*_raw_*", "verbs_counters", "verbs_flow", "example_flow", "rdma_core_test_flow", "rdma_core_test_rss_traffic"],
    "rsockets": ["rsocket_*", "example_rsockets", "memory_rsocket_*", "sanitizer_rsockets", "clients_*", "cm_veth_programs*"],
}


def has_what_it_needs(case, without):
    return not any(fnmatch.fnmatch(case, pattern) for part in without for pattern in NEEDED_BY[part])
