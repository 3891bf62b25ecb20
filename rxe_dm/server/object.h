/* SPDX-License-Identifier: MIT */
/* The objects of a device and their handles: contexts, protection domains, regions, device memory, DMA handles, umems, XRC
 * domains.
 *
 * A handle is generation << 18 | index: a freed one is refused for a long time instead of naming somebody else's object. Which
 * handles live is in shared memory too, so that a program can ask without a round trip. */
#ifndef RXE_DM_SERVER_OBJECT_H
#define RXE_DM_SERVER_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "rxe_dm/server/index_queue.h"

struct context;
struct resting_range;
struct user;

#define OBJECT_KINDS (CTL_KIND_XRCD + 1)
#define OBJECT_REST  1024 /* freed indexes before one is used again */

struct object {
	enum ctl_kind kind;
	uint32_t handle;
	uint32_t refs; /* objects, and process-bound ones (QP, SRQ, AH), that need this one */
	struct context *context;
	struct object *prev, *next;   /* of the context */
	struct user *owner;	      /* whose process's memory it is about, or NULL */
	struct object *oprev, *onext; /* of the owner */
	struct object *pd, *dm, *dmah, *umem;
	struct resting_range *memory; /* DM: what it was granted */
	uint64_t addr, len, iova;
	uint32_t key, rights, mr_kind;
	uint32_t slot, epoch; /* of the owner */
	int fd;		      /* XRC domain: its inode, or -1 */
	struct ctl_msg_dmah hints;
};

struct objects {
	_Atomic uint32_t *live; /* shared with clients */
	struct object **at;	/* by index */
	uint16_t *generation;
	struct index_queue resting;
	uint32_t fresh; /* the lowest index never used; 0 is never used */
	uint32_t count[OBJECT_KINDS];
};

bool objects_init(struct objects *ret, _Atomic uint32_t *live);
void objects_fini(struct objects *objects);
/* A new object, all zeros but kind, fd and handle; NULL when the kind's limit or memory is used up. */
struct object *object_new(struct objects *objects, enum ctl_kind kind);
/* The handle dies here; what the object held is the caller's to give back. */
void object_free(struct objects *objects, struct object *object);
/* NULL: never was, or is no more. */
struct object *object_find(const struct objects *objects, uint32_t handle);
/* The first object at or behind this index; NULL at the end. For listings. */
struct object *object_from(const struct objects *objects, uint32_t index);

#endif
