/* SPDX-License-Identifier: MIT */
/* The functions of the library below this layer. The build renames each ibv_NAME that this room
 * defines to inner_ibv_NAME in the objects of the library (lib/check/meson.build). */
#ifndef RXE_CHECK_INNER_H
#define RXE_CHECK_INNER_H

#include "lib/abi/newer.h"

/* Declares the inner function of a verb. */
#define INNER(name) extern __typeof__(name) inner_##name

/* The operations of a context as the library made them: the same for every context. */
extern struct verbs_context_65 check_inner;

#define INNER_OPS (&check_inner.base.context.ops)

#endif
