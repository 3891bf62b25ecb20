/* SPDX-License-Identifier: MIT */
/* Addresses that no other test uses. */
#ifndef TESTS_UNIT_PRIVATE_NETWORK_H
#define TESTS_UNIT_PRIVATE_NETWORK_H

#include <stdbool.h>

/* Moves the process into a network namespace of its own, with lo up. Where the machine refuses, the
 * process keeps its namespace, waits until no other test needs exclusive use
 * (tests/client/instance.py, alone_in_this_network), and has exclusive use until it ends. Returns
 * whether the namespace is its own. */
bool private_network(void);

#endif
