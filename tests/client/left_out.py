# SPDX-License-Identifier: MIT
"""The features that a build may leave out (meson_options.txt), and the cases that need them."""

import fnmatch

NEEDED_BY = {
    "rsockets": ["rsocket_*", "example_rsockets", "memory_rsocket_*", "sanitizer_rsockets", "clients_*", "cm_programs_*", "page_*"],
}


def has_what_it_needs(case, without):
    return not any(fnmatch.fnmatch(case, pattern) for feature in without for pattern in NEEDED_BY[feature])
