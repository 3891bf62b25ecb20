/* SPDX-License-Identifier: MIT */
/* Memory regions by key: where in this process the bytes of a request are. Under the layer's
 * lock. */
#ifndef RXE_CHECK_REGION_H
#define RXE_CHECK_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/check/hash.h"
#include "lib/check/span.h"

struct arrival_fill;
struct ctl_slot;
struct check_object;
struct check_request;
struct ibv_context;
struct ibv_sge;

struct region_key {
	const void *device;
	uint64_t lkey;
};

struct check_region {
	UT_hash_handle hh;
	struct region_key key;
	struct check_object *object; /* NULL: it was forgotten */
	uint8_t *addr;		     /* NULL: not memory of this process, or not by address */
	uint64_t len, iova;
	struct span span; /* empty: not looked up by address */
	int access;
	uint32_t requests;	       /* outstanding ranges */
	const struct check_object *dm; /* device memory under it; NULL: none. Lives as long */
};

/* Bytes that a request reads or writes. */
struct check_range {
	uint8_t *at; /* NULL: unknown */
	uint64_t len;
	struct check_region *region; /* NULL: unknown */
	/* held.c, while the request is outstanding. */
	struct check_request *request; /* NULL: not in the list */
	struct span span;
	struct arrival_fill *fill; /* mem_arrival.c; or NULL */
	bool on_stack;		   /* the posting thread's stack holds it */
	bool ended;		   /* the program no longer has the memory (reported) */
	/* The slot of another process that has the bytes, which are then known by span; NULL: this
	 * process has them, at `at`. */
	const struct ctl_slot *owner;
	uint32_t owner_epoch, owner_key;
	/* Handle of the device memory that has the bytes, which are then known by span, as offsets
	 * in the device's arena; 0: they are memory of a process. */
	uint32_t dm;
	uint64_t access; /* access.c: its number, if it is published; 0: it is not */
	/* race_process.c, of a receive: an access of another process that was outstanding when the
	 * receive was posted; NULL: none. */
	const struct ctl_slot *rival;
	uint64_t rival_access;
};

/* The object's part becomes a region of this key. addr NULL: its bytes are not known. */
void region_made(struct check_object *object, uint32_t lkey, void *addr, uint64_t len,
		 uint64_t iova, int access);
void region_ended(struct check_object *object);
/* Looks up the bytes; the range holds the region until region_release(). */
void region_range(struct ibv_context *context, const struct ibv_sge *sge, struct check_range *ret);
/* The bytes of a key, where they are device memory: sets span and dm. */
void region_find_dm(struct ibv_context *context, const struct ibv_sge *there,
		    struct check_range *range);
void region_release(struct check_range *range);

/* Regions over memory that is registered once, not on demand. Is a byte of [start, end) in one?
 * Without the layer's lock. */
bool region_overlaps(uintptr_t start, uintptr_t end);
bool region_any(void);
void region_each(void (*visit)(struct check_region *region, void *arg), void *arg);

#endif
