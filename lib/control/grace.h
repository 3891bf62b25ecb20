/* SPDX-License-Identifier: MIT */
/* Grace periods. A process raises its slot's gauge around a key lookup and its access. Once the
 * gauge was seen at zero, the process does not use a key or handle that was cleared before. The
 * server waits so for all processes, a process that closes a memory window for all others. */
#ifndef RXE_CONTROL_GRACE_H
#define RXE_CONTROL_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/shared.h"

#define GRACE_NOBODY RXE_MAX_SLOTS

struct grace {
	const struct ctl_shared *shared;
	uint64_t now;		       /* number of keys and handles cleared so far */
	uint64_t clear[RXE_MAX_SLOTS]; /* value of now when the gauge was last seen at zero */
	bool watched[RXE_MAX_SLOTS];   /* slots with a process */
};

void grace_watch(struct grace *grace, uint32_t slot);
void grace_unwatch(struct grace *grace, uint32_t slot);
/* Call after a key or handle was cleared: returns the stamp for grace_over(). */
uint64_t grace_begin(struct grace *grace);
/* True: no process can use what was cleared before the stamp. except: a slot to skip, or
 * GRACE_NOBODY. */
bool grace_over(struct grace *grace, uint64_t stamp, uint32_t except);

#endif
