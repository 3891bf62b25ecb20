/* SPDX-License-Identifier: MIT */
/* Unreliable connection (IBTA 9.8.2): messages in order or not at all. */
#ifndef RXE_EMU_UC_H
#define RXE_EMU_UC_H

#include <stdint.h>

struct rxe_uc {
	uint32_t reserved;
};

#endif
