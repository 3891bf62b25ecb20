/* SPDX-License-Identifier: MIT */
/* Limits of the operating system: the server fits into them, and says which to raise. */
#ifndef RXE_DM_SERVER_LIMIT_H
#define RXE_DM_SERVER_LIMIT_H

#include "lib/control/settings.h"

/* Raises the limit of descriptors to its maximum, and reduces the slots where that is too low. */
void limit_fit_slots(struct ctl_settings *settings);
/* What a person can do about a negative errno, as the end of a message: "" or ": raise ...". */
const char *limit_remedy(int rc);

#endif
