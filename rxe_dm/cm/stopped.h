/* SPDX-License-Identifier: MIT */
/* Programs that are stopped while an exchange waits for them. An exchange whose two ends are ids of
 * one communication manager, that is of one device server, then stands still. An exchange of two
 * servers of one machine spends no retries. */
#ifndef RXE_CM_STOPPED_H
#define RXE_CM_STOPPED_H

#include "rxe_dm/cm/id.h"

/* The timer of a message without an answer has expired. True: the program that must answer is
 * stopped, or was when the timer expired last; the timer is set again, and no retry is spent. */
bool cm_stopped_wait(struct cm_id *id, uint64_t now_ns);
/* True: the program that must answer belongs to another server, and may be stopped. The message is
 * sent again, so that a program that runs answers, and no retry is spent. */
bool cm_stopped_elsewhere(const struct cm_id *id);

#endif
