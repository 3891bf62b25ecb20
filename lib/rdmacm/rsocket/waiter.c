// SPDX-License-Identifier: MIT
/* Waiters, each with the eventfd of its thread. */
#include "lib/rdmacm/rsocket/waiter.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "net/link/descriptor.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ending; /* its destructor closes the eventfd of a thread that ends */
static __thread int thread_fd = -1;
static __thread pid_t thread_pid; /* whose eventfd it is: a child of fork() needs one of its own */

static void close_fd(void *arg)
{
	(void)arg;
	descriptor_close(thread_fd);
	thread_fd = -1;
}

static void create_key(void)
{
	pthread_key_create(&ending, close_fd);
}

int rs_waiter_fd(void)
{
	uint64_t count;

	if (thread_fd >= 0 && thread_pid == getpid() && descriptor_is_kept(thread_fd)) {
		while (read(thread_fd, &count, sizeof(count)) < 0 && errno == EINTR)
			;
		return thread_fd;
	}
	pthread_once(&once, create_key);
	thread_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	thread_pid = getpid();
	pthread_setspecific(ending, &thread_fd);
	return thread_fd;
}

void rs_waiter_add(struct rsocket *rs, struct rs_waiter *waiter, int fd)
{
	waiter->fd = fd;
	waiter->is_awake = false;
	DL_PREPEND(rs->waiters, waiter);
}

void rs_waiter_remove(struct rsocket *rs, struct rs_waiter *waiter)
{
	DL_DELETE(rs->waiters, waiter);
}

short rs_waiter_revents(const struct rsocket *rs, const struct rs_waiter *waiter)
{
	return waiter->is_edge ? rs_edge_revents(rs, waiter->events, &waiter->seen)
			       : rs_revents(rs, waiter->events);
}

static void wake(struct rs_waiter *waiter)
{
	const uint64_t one = 1;
	int saved = errno;

	waiter->is_awake = true;
	/* It fails only when the count is full, and then the thread wakes. */
	if (write(waiter->fd, &one, sizeof(one)) != sizeof(one))
		errno = saved;
}

void rs_wake(struct rsocket *rs)
{
	struct rs_waiter *waiter;

	rs_count_edges(rs);
	DL_FOREACH (rs->waiters, waiter) {
		if (!waiter->is_awake && rs_waiter_revents(rs, waiter))
			wake(waiter);
	}
}
