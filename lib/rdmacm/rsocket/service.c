// SPDX-License-Identifier: MIT
/* The service thread. */
#include "lib/rdmacm/rsocket/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "net/link/descriptor.h"

/* What the thread polls: the eventfd first, then one for each rsocket. */
struct rounds {
	struct rsocket **watched; /* with a reference each */
	struct pollfd *fds;
	uint32_t n, capacity;
};

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsocket **added; /* for the thread to take, with a reference each */
static uint32_t added_len;
static int service_fd = -1; /* wakes the thread */

static void forget(void)
{
	pthread_mutex_init(&service_lock, NULL);
	added = NULL;
	added_len = 0;
	service_fd = -1;
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(NULL, NULL, forget);
}

static bool grow(struct rounds *rounds, uint32_t n)
{
	struct rsocket **watched;
	struct pollfd *fds;

	if (n <= rounds->capacity)
		return true;
	watched = (struct rsocket **)realloc(rounds->watched, n * sizeof(*watched));
	if (watched)
		rounds->watched = watched;
	fds = realloc(rounds->fds, (n + 1) * sizeof(*fds));
	if (fds)
		rounds->fds = fds;
	if (!watched || !fds)
		return false;
	rounds->capacity = n;
	return true;
}

/* Without memory it tries again with the next one that is added. */
static void take_added(struct rounds *rounds)
{
	uint32_t i;

	pthread_mutex_lock(&service_lock);
	if (grow(rounds, rounds->n + added_len)) {
		for (i = 0; i < added_len; i++)
			rounds->watched[rounds->n++] = added[i];
		free(added);
		added = NULL;
		added_len = 0;
	}
	pthread_mutex_unlock(&service_lock);
}

/* False: the rsocket needs no service any more. */
static bool serve(struct rsocket *rs, struct pollfd *ret)
{
	bool is_needed;

	pthread_mutex_lock(&rs->lock);
	rs_progress_events(rs);
	is_needed = rs->channel && (rs->state == RS_LISTENING || rs_is_connecting(rs)) &&
		    !rs->end.receiving;
	if (is_needed)
		*ret = (struct pollfd){ .fd = rs->channel->fd, .events = POLLIN };
	pthread_mutex_unlock(&rs->lock);
	return is_needed;
}

static void serve_all(struct rounds *rounds)
{
	uint32_t i, kept = 0;

	for (i = 0; i < rounds->n; i++) {
		if (serve(rounds->watched[i], &rounds->fds[kept + 1]))
			rounds->watched[kept++] = rounds->watched[i];
		else
			rs_put(rounds->watched[i]);
	}
	rounds->n = kept;
}

static void *run(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct rounds rounds = { 0 };
	uint64_t count;

	if (!grow(&rounds, 1))
		return NULL;
	while (descriptor_is_kept(fd)) {
		take_added(&rounds);
		serve_all(&rounds);
		rounds.fds[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
		if (poll(rounds.fds, rounds.n + 1, -1) < 0 && errno != EINTR)
			break;
		if (rounds.fds[0].revents && read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
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

	if (service_fd >= 0 && descriptor_is_kept(service_fd))
		return 0;
	service_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
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

static int add(struct rsocket *rs)
{
	struct rsocket **longer;
	const uint64_t one = 1;

	longer = (struct rsocket **)realloc(added, (added_len + 1) * sizeof(*added));
	if (!longer)
		return ENOMEM;
	added = longer;
	rs_hold(rs);
	added[added_len++] = rs;
	return write(service_fd, &one, sizeof(one)) == sizeof(one) ? 0 : errno;
}

int rs_service_add(struct rsocket *rs)
{
	int err;

	pthread_mutex_lock(&service_lock);
	err = start();
	if (!err)
		err = add(rs);
	pthread_mutex_unlock(&service_lock);
	return err;
}
