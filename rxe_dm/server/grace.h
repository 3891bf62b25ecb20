/* SPDX-License-Identifier: MIT */
/* When is nobody inside any more? Each process raises its slot's gauge around key lookup and access. What was taken away
 * before a gauge was seen at zero cannot be in use by that process. */
#ifndef RXE_DM_SERVER_GRACE_H
#define RXE_DM_SERVER_GRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/shared.h"

#define GRACE_NOBODY RXE_MAX_SLOTS

struct grace {
	struct ctl_shared *shared;
	uint64_t now;		       /* counts what was taken away */
	uint64_t clear[RXE_MAX_SLOTS]; /* its gauge was seen at zero when now had this value */
	bool watched[RXE_MAX_SLOTS];   /* slots with a process */
};

void grace_watch(struct grace *grace, uint32_t slot);
void grace_unwatch(struct grace *grace, uint32_t slot);
/* A key or handle has just been cleared: returns the stamp to ask with. */
uint64_t grace_begin(struct grace *grace);
/* Has every process been seen outside since? except: a slot that answers for itself, or GRACE_NOBODY. */
bool grace_over(struct grace *grace, uint64_t stamp, uint32_t except);

#endif
