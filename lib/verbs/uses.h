/* SPDX-License-Identifier: MIT */
/* Finds the objects that use an object, for the sentence about one that cannot be destroyed. */
#ifndef RXE_VERBS_USES_H
#define RXE_VERBS_USES_H

/* Registers the function with the table of objects. */
void vb_uses_init(void);

#endif
