/* SPDX-License-Identifier: MIT */
/* RXE-MEM-008: a region is deregistered while requests of the peer to it are outstanding, where the
 * peer is of this device; of another process in mem_peer.c. */
#ifndef RXE_CHECK_MEM_REMOTE_H
#define RXE_CHECK_MEM_REMOTE_H

struct check_object;

void mem_remote_ending(const struct check_object *object);

#endif
