// SPDX-License-Identifier: MIT
/* Listening sockets.
 *
 * accept() without a free descriptor leaves the connection pending, and a level-triggered loop
 * would report it again at once and forever. So the server either accepts the connection with its
 * spare descriptor and closes it, or does not watch the listener for a while. */
#include "rxe_dm/server/listener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"

#define PAUSE_NS 100000000ull

static void open_spare(struct listeners *all)
{
	if (all->spare_fd < 0)
		all->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void close_spare(struct listeners *all)
{
	if (all->spare_fd >= 0)
		close(all->spare_fd);
	all->spare_fd = -1;
}

void listeners_init(struct listeners *ret)
{
	*ret = (struct listeners){ .spare_fd = -1 };
	open_spare(ret);
}

void listeners_fini(struct listeners *all)
{
	assert(!all->paused);
	close_spare(all);
}

static void pause_listener(struct listener *listener)
{
	struct listeners *all = listener->all;

	loop_del(listener->loop, &listener->source);
	listener->is_paused = true;
	DL_APPEND(all->paused, listener);
	all->resume_ns = clock_now_ns() + PAUSE_NS;
}

/* False: there was no connection, or no descriptor even with the spare one. */
static bool refuse(struct listener *listener)
{
	int fd;

	close_spare(listener->all);
	fd = accept4(listener->source.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	open_spare(listener->all);
	return fd >= 0;
}

static void listener_ready(struct loop_source *source, uint32_t events)
{
	struct listener *listener = container_of(source, struct listener, source);
	const int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0)
		listener->accepted(listener, fd);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED &&
		 (listener->is_patient || !refuse(listener)))
		pause_listener(listener);
}

uint64_t listeners_resume(struct listeners *all, uint64_t now_ns)
{
	struct listener *listener, *next;

	if (all->paused && now_ns < all->resume_ns)
		return all->resume_ns;
	DL_FOREACH_SAFE (all->paused, listener, next) {
		listener_unwatch(listener);
		if (listener_watch(listener))
			pause_listener(listener);
	}
	open_spare(all);
	return all->paused ? all->resume_ns : UINT64_MAX;
}

int listener_watch(struct listener *listener)
{
	assert(listener->all && listener->accepted && !listener->is_paused);
	listener->source.ready = listener_ready;
	return loop_add(listener->loop, &listener->source, EPOLLIN);
}

void listener_unwatch(struct listener *listener)
{
	if (listener->is_paused)
		DL_DELETE(listener->all->paused, listener);
	else
		loop_del(listener->loop, &listener->source);
	listener->is_paused = false;
}

void listener_close(struct listener *listener)
{
	if (listener->source.fd < 0)
		return;
	listener_unwatch(listener);
	close(listener->source.fd);
	listener->source.fd = -1;
}

int listener_bind(const struct ctl_name *name, int type)
{
	const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&name->addr, name->len) == 0 &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int listener_holder(const struct ctl_name *name, pid_t *ret_pid, uid_t *ret_uid)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)&name->addr, name->len) ? -errno : 0;
	if (rc == 0)
		rc = ctl_peer(fd, ret_pid, ret_uid);
	close(fd);
	return rc;
}
