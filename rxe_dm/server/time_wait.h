/* SPDX-License-Identifier: MIT */
/* Processes that have gone, and whose peers may still ask for an ACK that was lost: the server answers in their place, from their
 * slot's address, what emu/rc/time_wait.h allows and for as long. When the slot gets another process, that goes on with it. */
#ifndef RXE_DM_SERVER_TIME_WAIT_H
#define RXE_DM_SERVER_TIME_WAIT_H

#include <stdint.h>

struct device;

/* The slot has no process any more. Best effort: where the means are not there, the peer's retries run out. */
void gone_begin(struct device *device, uint32_t slot);
/* It is about to get one, or the device goes. */
void gone_end(struct device *device, uint32_t slot);
/* End what is over. Milliseconds until the next one is, -1: there is none. */
int gone_settle(struct device *device, uint64_t now_ns);
void gone_fini(struct device *device);

#endif
