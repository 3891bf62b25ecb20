// SPDX-License-Identifier: MIT
/* Requests to the connection manager. */
#include <errno.h>

#include "rxe_dm/server/conn.h"

int serve_cm(struct call *call)
{
	(void)call;
	return -EOPNOTSUPP;
}
