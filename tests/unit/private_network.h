/* SPDX-License-Identifier: MIT */
/* Addresses that no other test has. */
#ifndef TESTS_UNIT_PRIVATE_NETWORK_H
#define TESTS_UNIT_PRIVATE_NETWORK_H

#include <stdbool.h>

/* Puts the process into a network namespace of its own, with lo up. Where the machine refuses, the process keeps its
 * namespace, waits until no other test needs it alone (tests/client/instance.py, alone_in_this_network), and has it until
 * it ends. Returns whether the namespace is its own. */
bool private_network(void);

#endif
