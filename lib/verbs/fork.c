// SPDX-License-Identifier: MIT
/* fork(): what the child makes again, and the verbs about it. */
#include <pthread.h>

#include "lib/abi/newer.h"
#include "lib/control/cancel.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/verbs/device_list.h"
#include "lib/verbs/object.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/refused.h"

/* No hardware accesses registered pages, so copy-on-write does them no harm (ibv_fork_init(3)). The
 * engine and its sockets stay in the parent: the child drops its copy and gets an engine with its
 * first control verb (attach.c). */
static void in_child(void)
{
	NO_CANCEL;

	progress_threads_forked();
	vb_objects_fork_child();
	vb_pds_forked();
	vb_refused_forked();
	memory_forked();
	vb_devices_forked();
}

static void before_fork(void)
{
	NO_CANCEL;

	progress_threads_await_start();
	vb_objects_fork_prepare();
}

/* Only the table of live objects is locked across fork(): its lock is a leaf and held for a short
 * time. Other locks may be held for as long as a server call takes, by threads that the child does
 * not have: the child initializes them again. */
__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(before_fork, vb_objects_fork_parent, in_child);
}

int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

#pragma GCC visibility push(default)
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);
#pragma GCC visibility pop

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
