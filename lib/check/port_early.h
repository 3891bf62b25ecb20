/* SPDX-License-Identifier: MIT */
/* RXE-PORT-005: the program looks at the end of a message before the message is complete. With the
 * unkind device only, which lets time pass before it stores a message. */
#ifndef RXE_CHECK_PORT_EARLY_H
#define RXE_CHECK_PORT_EARLY_H

#include <stddef.h>
#include <stdint.h>

/* What the library calls in place of early_look(). Without the layer's lock. */
void check_early_look(const uint8_t *at, size_t len);

#endif
