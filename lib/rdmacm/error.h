/* SPDX-License-Identifier: MIT */
/* Ends of calls that fail: librdmacm's return -1 and errno. Inside the library an error is a
 * positive errno, as the verbs return it, or 0. */
#ifndef RXE_RDMACM_ERROR_H
#define RXE_RDMACM_ERROR_H

#include <errno.h>

/* A call's end: 0, or -1 and errno. */
static inline int rcm_result(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

/* errno of a verb that failed with NULL or -1. */
static inline int rcm_errno(void)
{
	return errno ? errno : EIO;
}

#endif
