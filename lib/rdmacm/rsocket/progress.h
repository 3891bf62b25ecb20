/* SPDX-License-Identifier: MIT */
/* Progress of one rsocket, made by whichever thread is in a call. The lock is held by the
 * caller. */
#ifndef RXE_RSOCKET_PROGRESS_H
#define RXE_RSOCKET_PROGRESS_H

struct rsocket;

/* Handles completions and sends what credits are due. Wakes waiters. */
void rs_progress(struct rsocket *rs);
/* The same, and connection events first: one system call at least. */
void rs_progress_events(struct rsocket *rs);

#endif
