/* SPDX-License-Identifier: MIT */
/* Whether a running server has the settings that the environment names: settings take effect when a
 * server starts. */
#ifndef RXE_CONTROL_AGREE_H
#define RXE_CONTROL_AGREE_H

#include <stddef.h>

#include "lib/control/protocol.h"

#define CTL_HAS_MAX 160

/* Compares the variables of the environment with the n devices of an instance. Returns the first
 * variable that contradicts them, and what the instance has instead; NULL: none does. Compared is
 * what programs see of a device; a variable that cannot be read contradicts nothing. */
const char *ctl_contradicts(const struct ctl_device *device, size_t n,
			    char ret_has[static CTL_HAS_MAX]);

#endif
