/* SPDX-License-Identifier: MIT */
/* The end of a call: a synchronous id waits for its event. */
#ifndef RXE_RDMACM_FINISH_H
#define RXE_RDMACM_FINISH_H

#include "lib/rdmacm/id.h"

/* rcm_id_ask() and rcm_id_finish(). 0 or a positive errno. */
int rcm_id_call(struct rcm_id *id, struct ctl_msg_cm *req);
/* A synchronous id: waits for the event that ends the call, and turns the event's status into the
 * call's result. 0 or a positive errno. */
int rcm_id_finish(struct rcm_id *id);

#endif
