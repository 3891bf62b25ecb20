// SPDX-License-Identifier: MIT
/* The table of descriptors that are rsockets. Read without a lock: each call of libc looks here. */
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

#define LAST_WAIT_S 5

static __thread int depth; /* of preload_enter() */

static _Atomic int rsockets[PRELOAD_FDS]; /* by descriptor: the rsocket's number, and 1; 0: none */
static _Atomic uint32_t numbers[PRELOAD_FDS]; /* by rsocket: how many descriptors name it */

void preload_add(int fd)
{
	preload_add_duplicate(fd, fd);
}

void preload_add_duplicate(int fd, int rsocket)
{
	if (fd < 0 || fd >= PRELOAD_FDS)
		return;
	atomic_fetch_add(&numbers[rsocket], 1);
	atomic_store(&rsockets[fd], rsocket + 1);
}

int preload_find(int fd)
{
	if (fd < 0 || fd >= PRELOAD_FDS)
		return -1;
	return atomic_load(&rsockets[fd]) - 1;
}

int preload_remove(int fd)
{
	int rsocket = fd >= 0 && fd < PRELOAD_FDS ? atomic_exchange(&rsockets[fd], 0) - 1 : -1;

	if (rsocket < 0)
		return -1;
	return atomic_fetch_sub(&numbers[rsocket], 1) == 1 ? rsocket : -1;
}

void preload_enter(void)
{
	depth++;
}

void preload_leave(void)
{
	depth--;
}

bool preload_is_inside(void)
{
	return depth > 0;
}

/* As TCP: what was sent arrives, though the program exits. */
__attribute__((destructor)) static void close_all(void)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = LAST_WAIT_S };
	int fd, rsocket;

	for (fd = 0; fd < PRELOAD_FDS; fd++) {
		rsocket = atomic_load(&rsockets[fd]) ? preload_remove(fd) : -1;
		if (rsocket < 0)
			continue;
		rsetsockopt(rsocket, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		rclose(rsocket);
	}
}
