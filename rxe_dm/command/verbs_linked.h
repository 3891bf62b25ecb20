/* SPDX-License-Identifier: MIT */
/* Programs that `rxe_dm run` cannot give a device, by what their file shows. */
#ifndef RXE_DM_COMMAND_VERBS_LINKED_H
#define RXE_DM_COMMAND_VERBS_LINKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an ELF image of len bytes holds a libibverbs of its own, so that it loads none. False for anything else, malformed files
 * too. Pure. */
bool verbs_linked(const uint8_t *image, size_t len);

/* One notice if execvp(name) runs a program that does not load our libibverbs: one that has its own linked into it, or is setuid. */
void verbs_linked_warn(const char *name);

#endif
