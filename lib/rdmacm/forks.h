/* SPDX-License-Identifier: MIT */
/* Forks of the process. */
#ifndef RXE_RDMACM_FORKS_H
#define RXE_RDMACM_FORKS_H

#include <stdint.h>

/* Number of fork() calls between the loading of the library and this process. Ids and channels of
 * another number belong to an ancestor. */
uint32_t rcm_forks(void);

#endif
