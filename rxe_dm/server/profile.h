/* SPDX-License-Identifier: MIT */
/* Finds and reads the profile that the settings name. */
#ifndef RXE_DM_SERVER_PROFILE_H
#define RXE_DM_SERVER_PROFILE_H

#include <stdbool.h>

#include "lib/control/profile.h"

/* choice: the name of an installed profile, or a path, which has a '/'. False: explained on the
 * log. */
bool profile_load(struct ctl_profile *ret, const char *choice);

#endif
