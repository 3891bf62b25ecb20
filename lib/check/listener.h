/* SPDX-License-Identifier: MIT */
/* What librxe_dm_check.so reports of the program (lib/watch/watch.h), and which check looks at it.
 * Where the library is not loaded, nothing is reported. */
#ifndef RXE_CHECK_LISTENER_H
#define RXE_CHECK_LISTENER_H

/* Decides what the library has to report from now on. Under the layer's lock. */
void listener_refresh(void);

#endif
