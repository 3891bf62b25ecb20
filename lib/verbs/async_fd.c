// SPDX-License-Identifier: MIT
/* The descriptor for asynchronous events, with or without a background thread. */
#include "lib/verbs/async_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "lib/progress/eventfd.h"
#include "net/link/descriptor.h"

static struct vb_async_fd open_both(void)
{
	return (struct vb_async_fd){ .set = epoll_create1(EPOLL_CLOEXEC),
				     .count = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE) };
}

static bool add(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

int vb_async_fd_open(struct vb_async_fd *ret)
{
	const struct vb_async_fd fd = open_both();
	int err;

	*ret = (struct vb_async_fd){ descriptor_keep(fd.set), descriptor_keep(fd.count) };
	if (ret->set >= 0 && ret->count >= 0 && add(ret->set, ret->count))
		return 0;
	err = -errno;
	vb_async_fd_close(ret);
	return err;
}

void vb_async_fd_close(const struct vb_async_fd *fd)
{
	descriptor_close(fd->set);
	descriptor_close(fd->count);
}

void vb_async_fd_forked(const struct vb_async_fd *fd)
{
	const struct vb_async_fd own = open_both();

	if (own.count >= 0)
		descriptor_replace(fd->count, own.count);
	if (own.set >= 0)
		descriptor_replace(fd->set, own.set);
	add(fd->set, fd->count);
}

void vb_async_fd_watch(const struct vb_async_fd *fd, int server, bool yes)
{
	if (!descriptor_is_kept(fd->set) || !descriptor_is_kept(server))
		return;
	if (yes)
		add(fd->set, server);
	else
		epoll_ctl(fd->set, EPOLL_CTL_DEL, server, NULL);
}

void vb_async_fd_signal(const struct vb_async_fd *fd)
{
	eventfd_signal(fd->count);
}

bool vb_async_fd_wait(const struct vb_async_fd *fd, void (*cancelled)(void *arg), void *arg)
{
	const bool is_open = descriptor_is_kept(fd->set) && descriptor_is_kept(fd->count);

	/* The program sets the flags of async_fd. */
	if (is_open)
		fcntl(fd->count, F_SETFL, fcntl(fd->set, F_GETFL) & O_NONBLOCK);
	return eventfd_wait(is_open ? fd->count : -1, cancelled, arg);
}
