// SPDX-License-Identifier: MIT
/* The lock of the layer, and which checks are selected. */
#include "lib/check/check.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/control/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* initial-exec: posting reads them several times. */
static __thread bool inside __attribute__((tls_model("initial-exec")));
static __thread int saved_errno __attribute__((tls_model("initial-exec")));

static pthread_once_t select_once = PTHREAD_ONCE_INIT;
static bool selected[CHECK_END];

static _Atomic bool is_child;
static void (*begin_in_child)(void);

void check_in_child(void (*begin)(void))
{
	begin_in_child = begin;
}

void check_lock(void)
{
	const int err = errno;

	if (atomic_load_explicit(&is_child, memory_order_relaxed) &&
	    atomic_exchange(&is_child, false) && begin_in_child)
		begin_in_child();
	/* Before the lock is taken, and until it is released: a signal may come in between. */
	inside = true;
	pthread_mutex_lock(&lock);
	saved_errno = err;
}

void check_unlock(void)
{
	const int err = saved_errno;

	pthread_mutex_unlock(&lock);
	inside = false;
	errno = err;
}

bool check_is_inside(void)
{
	return inside;
}

/* The command has checked the list. */
static void select_checks(void)
{
	const char *list = secure_getenv("RXE_DM_CHECK");
	const char *unknown = check_select(list ? list : "", selected);

	if (unknown)
		ctl_log(CTL_LOG_WARNING, "RXE_DM_CHECK: there is no check '%.40s'", unknown);
}

bool check_is_on(enum check check)
{
	pthread_once(&select_once, select_checks);
	return selected[check];
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	inside = true;
}

static void after_fork(void)
{
	inside = false;
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	atomic_store(&is_child, true);
	inside = false;
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
