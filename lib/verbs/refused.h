/* SPDX-License-Identifier: MIT */
/* Where the last refusals of this process are: in its slots, for `rxe_dm show`. A refusal names no
 * device, so that the slot of the first attached device has it. Before a device is attached,
 * refusals go to the log alone. */
#ifndef RXE_VERBS_REFUSED_H
#define RXE_VERBS_REFUSED_H

#include <stdint.h>

struct ctl_slot;

/* The process has a slot of the device with this index, or is about to give the slot back. */
void vb_refused_attach(uint32_t device, struct ctl_slot *slot);
void vb_refused_detach(uint32_t device);
/* The child of fork(): the slots are its parent's. */
void vb_refused_forked(void);

#endif
