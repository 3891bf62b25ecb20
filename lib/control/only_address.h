/* SPDX-License-Identifier: MIT */
/* The address by which others reach this network namespace, where there is no choice. */
#ifndef RXE_CONTROL_ONLY_ADDRESS_H
#define RXE_CONTROL_ONLY_ADDRESS_H

#include <stdbool.h>

#include "net/wire/gid.h"

/* The first IPv4 address, else the first IPv6 address, of the only interface that is up beside the
 * loopback interface. Link-local addresses do not count. False: there is no such interface, or
 * several. */
bool ctl_only_address(struct gid *ret);

#endif
