/* SPDX-License-Identifier: MIT */
/* The two steps that every verb of the form "destroy" shares. The verb checks the users of its
 * object in between, and frees the object after both. */
#ifndef RXE_VERBS_DESTROY_H
#define RXE_VERBS_DESTROY_H

#include <stdint.h>

#include "lib/inject/verb.h"
#include "lib/verbs/live.h"

struct ctl_client;
struct ctl_context;

/* Asks the server to destroy the object of this handle: 0 or a negative errno. */
typedef int vb_destroy_call(struct ctl_client *client, const struct ctl_context *context,
			    uint32_t handle);

/* May the verb destroy this object? 0, EINVAL (no live object of the kind), or the errno that a
 * fault rule injects. */
int vb_destroy_check(const void *object, enum vb_kind kind, enum inject_verb verb);
/* The same for libmlx5's verbs, which no fault rule names. 0, EINVAL, or EIO: dead context. */
int vb_destroy_check_unnamed(const void *object, enum vb_kind kind);
/* Removes the object from the live ones and destroys it in the server: with call, unless that is
 * NULL or the object was inherited by fork(). 0: the caller alone may free the object. Else an
 * errno, and the object is as before. */
int vb_destroy_take(void *object, enum vb_kind kind, vb_destroy_call *call, uint32_t handle);

#endif
