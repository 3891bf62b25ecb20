// SPDX-License-Identifier: MIT
/* Event loop on epoll. */
#include "rxe_dm/server/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

int loop_init(struct loop *ret)
{
	ret->next = ret->count = 0;
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
	for (int i = loop->next; i < loop->count; i++) {
		if (loop->ready[i].data.ptr == source)
			loop->ready[i].data.ptr = NULL;
	}
}

void loop_close(struct loop *loop, struct loop_source *source)
{
	if (source->fd < 0)
		return;
	loop_del(loop, source);
	close(source->fd);
	source->fd = -1;
}

int loop_once(struct loop *loop, int timeout_ms)
{
	struct loop_source *source;
	int n;

	assert(loop->next == loop->count);
	n = epoll_wait(loop->epoll_fd, loop->ready, LOOP_BATCH, timeout_ms);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	loop->count = n;
	for (loop->next = 0; loop->next < loop->count;) {
		const struct epoll_event event = loop->ready[loop->next++];

		source = (struct loop_source *)event.data.ptr;
		if (source)
			source->ready(source, event.events);
	}
	return n;
}

int loop_timeout_ms(uint64_t due_ns, uint64_t now_ns)
{
	uint64_t ms;

	if (due_ns == UINT64_MAX)
		return -1;
	if (due_ns <= now_ns)
		return 0;
	ms = (due_ns - now_ns - 1) / 1000000 + 1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}
