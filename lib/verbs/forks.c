// SPDX-License-Identifier: MIT
/* Forks of the process, counted. */
#include "lib/verbs/forks.h"

_Atomic uint32_t vb_fork_count;
