/* SPDX-License-Identifier: MIT */
/* Listeners. cm.h declares cm_listen(). */
#ifndef RXE_CM_LISTEN_H
#define RXE_CM_LISTEN_H

#include "rxe_dm/cm/id.h"

/* The listener for a request on a path; NULL: none. */
struct cm_id *cm_listen_find(const struct cm *cm, uint64_t service_id, const struct cm_path *path);
/* A listener at an address, of any device; NULL: none. */
struct cm_id *cm_listen_find_at(const struct cm *cm, uint64_t service_id, const struct gid *addr);
void cm_listen_end(struct cm_id *id);

#endif
