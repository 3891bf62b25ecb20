/* SPDX-License-Identifier: MIT */
/* The two steps that every verb of the form "destroy" shares. The verb checks the users of its
 * object in between, and frees the object after both. */
#ifndef RXE_VERBS_DESTROY_H
#define RXE_VERBS_DESTROY_H

#include <stdint.h>

#include "lib/control/protocol.h"
#include "lib/inject/verb.h"
#include "lib/verbs/live.h"

/* May the verb destroy this object? 0, EINVAL (no such live object), or an injected errno. */
int vb_destroy_check(const void *object, enum vb_kind kind, enum inject_verb verb);
/* The same for libmlx5's verbs, which no fault rule names. 0, EINVAL, or EIO: dead context. */
int vb_destroy_check_unnamed(const void *object, enum vb_kind kind);
/* Removes the object from the live ones, and frees the server's object of this kind and handle,
 * unless that kind is CTL_KIND_FREE (the server has none) or the object was inherited by fork().
 * 0: the caller alone may free the object. Else an errno, and the object is as before. */
int vb_destroy_take(void *object, enum vb_kind kind, enum ctl_kind in_server, uint32_t handle);

#endif
