// SPDX-License-Identifier: MIT
/* Event loop on epoll. One event a call: a handler may free other sources. */
#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "rxe_dm/server/loop.h"

int loop_init(struct loop *ret)
{
	ret->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return ret->epoll_fd < 0 ? -errno : 0;
}

int loop_add(struct loop *loop, struct loop_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	assert(source->ready && source->fd >= 0);
	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) ? -errno : 0;
}

void loop_del(struct loop *loop, struct loop_source *source)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

int loop_once(struct loop *loop, int timeout_ms)
{
	struct epoll_event event;
	struct loop_source *source;
	int n = epoll_wait(loop->epoll_fd, &event, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 1) {
		source = (struct loop_source *)event.data.ptr;
		assert(source->ready);
		source->ready(source, event.events);
	}
	return n;
}
