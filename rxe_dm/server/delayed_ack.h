/* SPDX-License-Identifier: MIT */
/* Delayed ACKs of a process that has exited (lib/control/delayed_ack.h). */
#ifndef RXE_DM_SERVER_DELAYED_ACK_H
#define RXE_DM_SERVER_DELAYED_ACK_H

#include <stdint.h>

struct device;

/* Sends the slot's delayed ACKs and clears their records. */
void delayed_ack_send_all(struct device *device, uint32_t slot);

#endif
