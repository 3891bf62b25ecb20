/* SPDX-License-Identifier: MIT */
/* Objects and fork(): an object remembers the process that made it by a count of forks. */
#ifndef RXE_VERBS_FORK_H
#define RXE_VERBS_FORK_H

#include <stdbool.h>
#include <stdint.h>

struct vb_device;

/* Number of fork() calls between the first process and this one. */
uint32_t vb_forks(void);
/* Takes the engine lock for an object made when vb_forks() was forks; progress_unlock() ends it.
 * False, and nothing is locked: the object was inherited, its engine stayed in the parent. */
bool vb_lock_engine(struct vb_device *dev, uint32_t forks);

#endif
