/* SPDX-License-Identifier: MIT */
/* What the progress engine reports to this library. */
#ifndef RXE_VERBS_OWNER_H
#define RXE_VERBS_OWNER_H

#include "lib/progress/progress.h"

extern const struct progress_owner vb_owner;

#endif
