// SPDX-License-Identifier: MIT
/* The operations of a context as the library made them. */
#include "lib/record/below.h"

struct verbs_context_65 record_below;
