/* SPDX-License-Identifier: MIT */
/* Ends of calls that fail: librdmacm's return -1 and errno, and report why (lib/refusal/refusal.h).
 * Inside the library an error is a positive errno, as the verbs return it, or 0; the place that
 * finds the mistake notes the reason. A verb that failed has reported its own. */
#ifndef RXE_RDMACM_ERROR_H
#define RXE_RDMACM_ERROR_H

#include <errno.h>
#include <stddef.h>

#include "lib/refusal/refusal.h"

/* A call's end: 0, or -1 and errno. The call's name is the public function's, or the first argument
 * of rcm_result_as(). */
#define rcm_result(err) rcm_result_as(__func__, err)
static inline int rcm_result_as(const char *call, int err)
{
	if (!err)
		return 0;
	/* A signal, or no event with O_NONBLOCK: no refusal. */
	if (err == EAGAIN || err == EINTR)
		errno = err;
	else
		rxe_dm_report_refusal(call, err);
	return -1;
}

/* The same for rsockets: their errors are those of sockets, and are not reported. */
static inline int rcm_return(int err)
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
