/* SPDX-License-Identifier: MIT */
/* Ends of verbs that fail. Inside the library an error is a positive errno, as verbs return it. */
#ifndef RXE_VERBS_ERROR_H
#define RXE_VERBS_ERROR_H

#include <errno.h>
#include <stddef.h>

/* Sets errno and returns NULL, for verbs that return a pointer. */
static inline void *vb_fail(int err)
{
	errno = err;
	return NULL;
}

/* Ends a verb that returns an errno: it leaves errno set as well, as system calls do. 0: success,
 * and errno stays. */
static inline int vb_result(int err)
{
	if (err)
		errno = err;
	return err;
}

#endif
