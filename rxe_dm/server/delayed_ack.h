/* SPDX-License-Identifier: MIT */
/* ACKs that a process held when it died. */
#ifndef RXE_DM_SERVER_DELAYED_ACK_H
#define RXE_DM_SERVER_DELAYED_ACK_H

#include <stdint.h>

struct device;

/* Send what the slot's process still owes, and forget it. */
void owed_pay(struct device *device, uint32_t slot);

#endif
