/* SPDX-License-Identifier: MIT */
/* The objects of the verbs and their calls, as libibverbs.so.1 exports them.
 *
 * Each kind of object has a file, which reads from top to bottom: create, use, destroy. Calls go
 * down:
 *
 *   open.c                opens, imports and closes a device; destroys what a program left on it
 *   device_list.c owner.c the list of devices; what engine and device server report
 *   fork.c                what a child of fork() makes again
 *   qp.c cq.c mr.c dm.c   the objects, and about fifteen more
 *   qp_queues.c post.c    the data path: queues, posted requests (wr.c: one call for each part of
 *   wr.c cq_poll.c        a request), completions
 *   async.c channel.c     events, and who has acknowledged them
 *   object.c              this header: how all objects begin, are found, and end
 *   kind.c uses.c         their kinds and names; which object uses which
 *   refused.c             where the reasons of refusals are kept
 *   gate.c attach.c       fault rules, which fail verbs; the process's slot, mappings and engine
 *
 * Programs call this room, and libmlx5.so.1 by one table (mlx5_calls.h). The room converts and
 * checks arguments. It never looks into packets (emu), runs no thread (lib/progress), and decides
 * nothing about identity (the device server).
 *
 * A table holds the live objects by address. It lets a verb refuse a null, foreign or destroyed
 * handle instead of following the pointer. Control path only: the data path trusts its arguments.
 * The table's lock is a leaf. So each function may be called under any other lock, but for
 * vb_is_context(), vb_end_check() and vb_end_take(): they may call the server.
 *
 * A verb that creates checks its arguments, calls vb_object_begin(), which passes the gate
 * (gate.h), completes the object, and on failure calls vb_object_undo(). A verb that destroys calls
 * vb_object_end(), takes down what is its own, and frees the object. */
#ifndef RXE_VERBS_OBJECT_H
#define RXE_VERBS_OBJECT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/inject/verb.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/kind.h"

struct ibv_context;

/* Ends of verbs that fail: each sets errno, because system calls do, and reports why
 * (lib/refusal/refusal.h). The public function ends so, and no function that it calls. The name of
 * the call is the public function's, or the _as functions' first argument. */
static inline void *vb_fail_as(const char *call, int err)
{
	rxe_dm_report_refusal(call, err);
	return NULL;
}

/* For verbs that return a pointer. */
#define vb_fail(err) vb_fail_as(__func__, err)
/* The same, if what was made is NULL, with the present errno. */
#define vb_made(object) vb_made_as(__func__, object)
static inline void *vb_made_as(const char *call, void *object)
{
	return object ? object : vb_fail_as(call, errno);
}

/* For verbs that return -1. */
#define vb_minus_one(err) vb_minus_one_as(__func__, err)
static inline int vb_minus_one_as(const char *call, int err)
{
	rxe_dm_report_refusal(call, err);
	return -1;
}

/* For verbs that return an errno. 0: success, and errno stays. */
#define vb_result(err) vb_result_as(__func__, err)
static inline int vb_result_as(const char *call, int err)
{
	if (err)
		rxe_dm_report_refusal(call, err);
	return err;
}

/* Begins an object: zeroed memory, the context in its first member. NULL, and errno and the noted
 * reason are ENOMEM's: no memory, or the process has as many objects of the kind as
 * ibv_query_device(3) reports. */
void *vb_object_new(struct ibv_context *context, enum vb_kind kind, size_t size);
/* Passes the gate, then begins an object. NULL also with an injected errno. */
void *vb_object_begin(struct ibv_context *context, enum vb_kind kind, size_t size,
		      enum inject_verb verb);
/* The object has got its handle. The structure that programs see may repeat it: an object whose
 * handle a program has overwritten is not live, because the kernel would not find it either. */
void vb_object_set_handle(const void *object, uint32_t handle);
/* Frees an object that did not become complete. Returns err. */
int vb_object_undo(void *object, int err);

/* Counts another object that uses this one: vb_object_end() then returns EBUSY. */
void vb_object_use(const void *object);
void vb_object_unuse(const void *object);

/* Accepts any pointer. */
bool vb_object_is_live(const void *object, enum vb_kind kind);
/* Was the object made by a process from which this one was forked? The original belongs to that
 * process; a child that destroys it frees only its own copy of the memory. */
bool vb_object_is_inherited(const void *object);
/* Is it a live context of this library? In the child of a fork() the first call attaches the
 * device again. */
bool vb_is_context(const struct ibv_context *context);
/* True: a live object of this kind (no context), made in this process on the device of context. */
bool vb_is_usable(struct ibv_context *context, const void *object, enum vb_kind kind);

/* The checks above for verbs that refuse: true, and the reason is noted (EINVAL), unless the object
 * is as the check demands. */
bool vb_refuses(const void *object, enum vb_kind kind);
bool vb_refuses_context(const struct ibv_context *context);
bool vb_refuses_use(struct ibv_context *context, const void *object, enum vb_kind kind);
/* Notes why a request to the server failed, which is about an object of this kind. rc: 0 or a
 * negative errno. Returns the positive errno, or 0. */
int vb_server_result(int rc, enum vb_kind kind);

/* The same for a question about an object with this handle. */
int vb_query_result(int rc, enum vb_kind kind, uint32_t handle);
/* Notes which objects use this one. Returns EBUSY. */
int vb_refuse_used(const void *object, enum vb_kind kind);

/* As vb_kind_name(). The object is live. */
const char *vb_object_name(const void *object, enum vb_kind kind, char ret[static VB_NAME_MAX]);
/* Writes the live objects that use this one: "2 MRs (handles 7, 9), QP 0x01dd02". Empty: none in
 * this process. */
void vb_object_users(const void *object, char *ret, size_t size);
/* Set once: whether an object of this kind uses another one. Called under the table's lock. */
void vb_object_used_by(bool (*uses)(const void *user, enum vb_kind kind, const void *object));

/* Begins the end of an object: it is live, no fault rule fails the verb, no object uses it, and the
 * server has freed its part. 0: the caller alone may free the object. Else an errno, and the object
 * is as before: EINVAL (no live object), EBUSY, an injected errno, or the server's. The reason is
 * noted. */
int vb_object_end(void *object, enum vb_kind kind, enum inject_verb verb);
/* The two halves, for verbs that do more in between. */
int vb_end_check(const void *object, enum vb_kind kind, enum inject_verb verb);
int vb_end_take(void *object, enum vb_kind kind);
/* Both for libmlx5's verbs, which no fault rule names. EIO: the context is dead. */
int vb_object_end_unnamed(void *object, enum vb_kind kind);

/* Enters an object that vb_object_new() did not make, or whose end failed. False: no memory, or too
 * many of the kind. */
bool vb_object_add(const void *object, enum vb_kind kind);
/* Removes an object, used or not. True for exactly one caller, which may free the object. */
bool vb_object_take(const void *object, enum vb_kind kind);
/* Any object of this kind and context, with the handle that it was given, or NULL. */
void *vb_object_any(const struct ibv_context *context, enum vb_kind kind);
/* Sets the most objects of the kind in the process, on all devices together. */
void vb_object_limit(enum vb_kind kind, uint32_t max);

/* pthread_atfork() handlers: the table stays locked across fork(), so the child finds it
 * consistent. In the child all present objects become inherited. */
void vb_objects_fork_prepare(void);
void vb_objects_fork_parent(void);
void vb_objects_fork_child(void);

#endif
