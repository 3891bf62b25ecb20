// SPDX-License-Identifier: MIT
/* Forks of the process, counted. */
#include "lib/rdmacm/forks.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint32_t forks;

uint32_t rcm_forks(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

static void count(void)
{
	atomic_fetch_add(&forks, 1);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, count);
}
