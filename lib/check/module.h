/* SPDX-License-Identifier: MIT */
/* The executables and shared objects of the process, as they stand in its findings. */
#ifndef RXE_CHECK_MODULE_H
#define RXE_CHECK_MODULE_H

#include <stdbool.h>
#include <stdint.h>

struct finding_frame;
struct findings;

/* The frame of an address; adds its module to the area. */
struct finding_frame module_frame(struct findings *area, uintptr_t pc);

#endif
