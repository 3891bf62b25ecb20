/* SPDX-License-Identifier: MIT */
/* The shadow of each object of the verbs: what it is called, where it was made, whether it is
 * alive. A destroyed object stays in quarantine: its memory is not freed while it is among the last
 * OBJECT_QUARANTINE, so a use of it is a finding and no crash. Under the layer's lock, but for
 * object_defer_begin() and what is below it. */
#ifndef RXE_CHECK_OBJECT_H
#define RXE_CHECK_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/check/hash.h"
#include "lib/check/stack.h"
#include "lib/findings/table.h"
#include "lib/verbs/object.h"

struct deferred_free;
struct thread_use;
struct ibv_context;

#define OBJECT_QUARANTINE 4096u

/* Kinds of librdmacm, after those of the verbs. */
#define OBJECT_CM_ID	  ((enum vb_kind)VB_KINDS)
#define OBJECT_CM_CHANNEL ((enum vb_kind)(VB_KINDS + 1))
#define OBJECT_KINDS	  (VB_KINDS + 2)

struct check_object {
	UT_hash_handle hh;
	const void *address;
	struct check_object *prev, *next; /* in quarantine: oldest first */
	struct deferred_free *memory;	  /* in quarantine: what its end would have freed */
	enum vb_kind kind;
	bool dead;
	uint32_t async_events, async_acked; /* event.c: that the program has read, acknowledged */
	uint32_t async_reader;		    /* event.c: the thread that read the last one */
	bool reached;			    /* reach.c */
	bool inherited;			    /* made by the process that forked this one */
	struct ibv_context *context;
	struct thread_use *use; /* thread.c; NULL: any thread may use it */
	void *part; /* what the checks know of this kind: struct check_qp and so on; or NULL */
	void (*free_part)(void *part);
	struct check_stack made, ended;
	char label[64]; /* "QP 0x01dd02" */
};

/* Enters an object that a verb has made; the stack is the caller's. NULL: no memory, and the object
 * is not checked. */
struct check_object *object_made(const void *address, enum vb_kind kind,
				 struct ibv_context *context);
void object_label(struct check_object *object, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* NULL: not made by a verb of this layer. */
struct check_object *object_find(const void *address);
/* The live object of this kind that a verb was given; NULL: it has no shadow, or it is dead, which
 * is reported as a use after the end. verb: the caller's name. */
struct check_object *object_used(const void *address, enum vb_kind kind, const char *verb);
/* True: the object is dead (reported). */
bool object_is_dead(const void *address, enum vb_kind kind, const char *verb);
/* The same for posting and polling; an object of the parent of a fork() is reported as well. *ret:
 * the shadow, or NULL. */
bool object_is_refused(const void *address, enum vb_kind kind, const char *verb,
		       struct check_object **ret);
/* A verb that destroys was called: reports an object that is dead. Returns a live one, or NULL. */
struct check_object *object_ending(const void *address, enum vb_kind kind, const char *verb);
/* The object was destroyed; memory: of object_defer_end(). */
void object_ended(struct check_object *object, struct deferred_free *memory);
/* Calls visit for each live object of a context; NULL: of all. */
void object_each(const struct ibv_context *context,
		 void (*visit)(struct check_object *object, void *arg), void *arg);

/* Between the two calls, frees of the library in this thread are deferred. Without the lock. */
void object_defer_begin(void);
struct deferred_free *object_defer_end(void);
void object_free_deferred(struct deferred_free *memory);
/* What the library calls in place of free(3). */
void check_free(void *memory);

#endif
