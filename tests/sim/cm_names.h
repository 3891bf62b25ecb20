/* SPDX-License-Identifier: MIT */
/* Names of the connection manager's states and events, for traces. */
#ifndef TESTS_SIM_CM_NAMES_H
#define TESTS_SIM_CM_NAMES_H

#include "rxe_dm/cm/cm.h"

/* "IDLE", "REQ_RECEIVED", ...; "?" for others. Static storage. */
const char *cm_state_str(enum cm_state state);
const char *cm_event_str(enum cm_event_type type);

#endif
