// SPDX-License-Identifier: MIT
/* The operations of a context as the library made them. */
#include "lib/check/inner.h"

struct verbs_context_65 check_inner;
