/* SPDX-License-Identifier: MIT */
/* Programs that `rxe_dm run` cannot give a device, by what their file shows. */
#ifndef RXE_DM_COMMAND_VERBS_LINKED_H
#define RXE_DM_COMMAND_VERBS_LINKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True: an ELF image of len bytes has a libibverbs linked in, so it loads none. False for all else,
 * malformed files included. Pure. */
bool verbs_linked(const uint8_t *image, size_t len);

/* Logs a notice if execvp(name) runs a program that does not load our libibverbs: one that has its
 * own linked in, or is setuid. */
void verbs_linked_warn(const char *name);

#endif
