/* SPDX-License-Identifier: MIT */
/* Executables and shared objects: of this process, as its findings and its peers need them, and of
 * other processes, as these publish them. */
#ifndef RXE_CHECK_MODULE_H
#define RXE_CHECK_MODULE_H

#include <stdbool.h>
#include <stdint.h>

struct ctl_modules;
struct finding_frame;
struct findings;

/* The frame of an address; adds its module to the area. modules: of the process that has the
 * address; NULL: this one. */
struct finding_frame module_frame(struct findings *area, const struct ctl_modules *modules,
				  uintptr_t pc);
/* Adds the module of an address of this process, unless it is there or there is no space. */
void module_publish(struct ctl_modules *to, uintptr_t pc);

#endif
