/* SPDX-License-Identifier: MIT */
/* The objects of a device and their handles.
 *
 * A handle is generation << 18 | index: a freed one is refused for long before its value is reused.
 * Live handles are in shared memory too: a program checks one without a round trip. */
#ifndef RXE_DM_SERVER_OBJECT_H
#define RXE_DM_SERVER_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "rxe_dm/server/index_queue.h"

struct context;
struct range;
struct user;

#define OBJECT_KINDS (CTL_KIND_QP + 1)
#define OBJECT_REST  1024 /* freed indexes before one is used again */

struct object {
	enum ctl_kind kind;
	uint32_t handle;
	uint32_t refs; /* number of objects, and of QPs, SRQs and AHs, that use this one */
	/* Releases what the object holds, as its last act but one; NULL: it holds nothing. */
	void (*end)(struct object *object);
	struct context *context;
	struct object *prev, *next;   /* of the context */
	struct user *owner;	      /* the process whose memory it describes, or NULL */
	struct object *oprev, *onext; /* of the owner */
	/* Windows of the context; handles of QPs of the device. */
	struct object *wprev, *wnext;
	struct object *pd, *dm, *dmah, *umem;
	struct range *memory; /* DM: its range of the arena */
	uint64_t addr, len, iova;
	uint32_t key, rights, mr_kind;
	uint32_t slot, epoch; /* of the owner */
	int fd;		      /* XRC domain: its inode, or -1 */
	struct ctl_dmah hints;
};

struct objects {
	_Atomic uint32_t *live; /* shared with clients */
	struct object **at;	/* by index */
	uint16_t *generation;
	struct index_queue resting;
	uint32_t fresh; /* the lowest index never used; 0 is never used */
	uint32_t count[OBJECT_KINDS], max[OBJECT_KINDS];
};

/* The profile says how many of a kind there may be. */
bool objects_init(struct objects *ret, _Atomic uint32_t *live, const struct ctl_profile *profile);
void objects_fini(struct objects *objects);
/* Returns an object of zeros but kind, fd and handle; NULL: limit of the kind, or no memory. */
struct object *object_new(struct objects *objects, enum ctl_kind kind);
/* The handle dies here. The caller has released what the object held: refs is 0. */
void object_free(struct objects *objects, struct object *object);
/* NULL: the handle is not live. */
struct object *object_find(const struct objects *objects, uint32_t handle);
static inline uint32_t object_index(const struct object *object)
{
	return object->handle & (CTL_MAX_OBJECTS - 1);
}

/* Returns the first object at or after this index; NULL at the end. For listings. */
struct object *object_from(const struct objects *objects, uint32_t index);

struct object *context_new_object(struct context *context, enum ctl_kind kind);
struct object *context_find(const struct context *context, uint32_t handle, enum ctl_kind kind);
/* Frees an object even if others use it: keys die at once, device memory rests (range.h). */
void context_free_object(struct object *object);
/* A region or a window: its key is dead when this returns. */
void object_kill_key(struct object *mr);
/* Binds an object to the process of a user: it is freed with the user. */
void object_own(struct object *object, struct user *user);
void object_disown(struct object *object);
/* Makes *place point to another object (or NULL), and counts both references. */
void object_hold(struct object **place, struct object *object);
/* Adds delta (may be negative) to the number of QPs, SRQs and AHs of the user on a PD. */
int object_use(struct user *user, struct object *pd, int64_t delta);

#endif
