// SPDX-License-Identifier: MIT
/* The service thread accepts connections and goes on connecting while the program does something
 * else. It starts with the first rsocket that needs it, and then stays.
 *
 * The thread waits for the event channels of its rsockets by one epoll descriptor, which knows each
 * rsocket by its descriptor. An entry reports one event (EPOLLONESHOT), and is set again while the
 * rsocket needs the thread. The kernel removes the entry of a closed channel. */
#include "lib/rdmacm/rsocket/connection.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>

#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/wait.h"
#include "net/link/descriptor.h"

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static int service_fd = -1; /* the epoll descriptor */

static void forget(void)
{
	pthread_mutex_init(&service_lock, NULL);
	service_fd = -1;
}

static __attribute__((constructor)) void prepare(void)
{
	pthread_atfork(NULL, NULL, forget);
}

static bool is_needed(const struct rsocket *rs)
{
	return (rs->state == RS_LISTENING || rs->state == RS_CONNECTING) && !rs->end.receiving;
}

/* Waits for one event of the rsocket's channel. 0 or a positive errno. The lock is held. */
static int watch(int epfd, int op, const struct rsocket *rs)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data = { .fd = rs->fd } };

	if (!is_needed(rs))
		return 0;
	return epoll_ctl(epfd, op, rs->channel->fd, &event) ? errno : 0;
}

static void serve(int epfd, int fd)
{
	struct rsocket *rs = rs_get_locked(fd);

	if (!rs)
		return;
	rs_progress_events(rs);
	watch(epfd, EPOLL_CTL_MOD, rs);
	rs_put_locked(rs);
}

static void *run(void *arg)
{
	int epfd = (int)(intptr_t)arg, n;
	struct epoll_event event;

	while (descriptor_is_kept(epfd)) {
		n = epoll_wait(epfd, &event, 1, -1);
		if (n > 0)
			serve(epfd, event.data.fd);
		else if (errno != EINTR)
			break;
	}
	return NULL;
}

/* Under the lock. The program's signals are not for this thread. */
static int start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (descriptor_is_kept(service_fd))
		return 0;
	service_fd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
	if (service_fd < 0)
		return errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run, (void *)(intptr_t)service_fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err) {
		pthread_detach(thread);
		return 0;
	}
	descriptor_close(service_fd);
	service_fd = -1;
	return err;
}

int rs_service_add(struct rsocket *rs)
{
	int err;

	pthread_mutex_lock(&service_lock);
	err = start();
	if (!err) {
		pthread_mutex_lock(&rs->lock);
		err = watch(service_fd, EPOLL_CTL_ADD, rs);
		pthread_mutex_unlock(&rs->lock);
	}
	pthread_mutex_unlock(&service_lock);
	return err;
}
