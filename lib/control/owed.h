/* SPDX-License-Identifier: MIT */
/* ACKs that a process holds back although their completion can be seen: should it die, the device server sends them.
 *
 * A program may end as soon as it has its last completion, and its peer must not pay for that: so an ACK is with the kernel
 * before its completion is visible, or it stands here. */
#ifndef RXE_CONTROL_OWED_H
#define RXE_CONTROL_OWED_H

#include <stdatomic.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define CTL_OWED 8

/* Written by the slot's process under its engine lock: qpn first cleared, last set. */
struct ctl_owed_ack {
	_Atomic uint32_t qpn; /* whose; 0: empty */
	uint32_t dest_qpn;
	uint32_t psn; /* of the last request received */
	uint32_t msn;
	struct gid peer;
};

#endif
