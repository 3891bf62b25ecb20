/* SPDX-License-Identifier: MIT */
/* Limits: those of the operating system, into which the server fits, and those of the profile,
 * which the settings name (lib/control/profile.h). */
#ifndef RXE_DM_SERVER_LIMIT_H
#define RXE_DM_SERVER_LIMIT_H

#include <stdbool.h>

#include "lib/control/profile.h"
#include "lib/control/settings.h"

/* Raises the limit of descriptors to its maximum, and reduces the slots where that is too low. */
void limit_fit_slots(struct ctl_settings *settings);
/* Logs what failed with the negative errno rc, why, and what to do about it. Returns rc. */
int limit_explain(int rc, const char *what, ...) __attribute__((format(printf, 2, 3)));
/* A name has no '/', and is looked for beside the server, then in the prefix; else choice is a
 * path. False: explained on the log. */
bool limit_load_profile(struct ctl_profile *ret, const char *choice);

#endif
