/* SPDX-License-Identifier: MIT */
/* Memory windows: what lies below their keys. */
#ifndef RXE_CHECK_WINDOW_H
#define RXE_CHECK_WINDOW_H

struct ibv_context;
struct ibv_sge;

/* Bytes at the peer, named by the key of a window that is bound to them, become those of the region
 * below: its key, and an address in it. Anything else stays. */
void window_resolve(struct ibv_context *context, struct ibv_sge *there);

#endif
