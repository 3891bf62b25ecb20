/* SPDX-License-Identifier: MIT */
/* Times at which something is due. */
#ifndef RXE_EMU_DEADLINE_H
#define RXE_EMU_DEADLINE_H

#include <stdint.h>

#define RXE_NEVER UINT64_MAX /* nothing is due */

#endif
