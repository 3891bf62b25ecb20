/* SPDX-License-Identifier: MIT */
/* Programs that read a message before it is complete. */
#ifndef RXE_PROGRESS_EARLY_H
#define RXE_PROGRESS_EARLY_H

#include <stddef.h>
#include <stdint.h>

/* The bytes [at, at + len) of this process are about to be stored, by the unkind device. Does
 * nothing: lib/check has a function of its own in place of this one, which looks whether the
 * program reads them already. */
void early_look(const uint8_t *at, size_t len);

#endif
