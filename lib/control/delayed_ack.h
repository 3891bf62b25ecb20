/* SPDX-License-Identifier: MIT */
/* Delayed ACKs whose completions are already visible. When the process dies, the device server sends them.
 *
 * A program may exit right after its last completion, and its peer must not fail for that. So either the kernel has an ACK
 * before the program can see the completion, or the ACK is recorded here. */
#ifndef RXE_CONTROL_DELAYED_ACK_H
#define RXE_CONTROL_DELAYED_ACK_H

#include <stdatomic.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define CTL_MAX_DELAYED_ACKS 8

/* The slot's process writes it under its engine lock. It clears qpn first and sets it last. */
struct ctl_delayed_ack {
	_Atomic uint32_t qpn; /* of the queue pair; 0: empty */
	uint32_t dest_qpn;
	uint32_t psn; /* of the last request received */
	uint32_t msn;
	struct gid peer;
};

#endif
