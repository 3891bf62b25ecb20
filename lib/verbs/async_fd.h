/* SPDX-License-Identifier: MIT */
/* The async_fd of a context: readable while the context has asynchronous events to read. Programs
 * poll it and set it O_NONBLOCK; ibv_get_async_event() reads.
 *
 * It is an epoll set with an eventfd, which counts the events in the context's queue, and with the
 * server's socket while no background thread reads that. */
#ifndef RXE_VERBS_ASYNC_FD_H
#define RXE_VERBS_ASYNC_FD_H

#include <stdbool.h>

struct vb_async_fd {
	int set; /* the program's async_fd */
	int count;
};

/* 0 or a negative errno. */
int vb_async_fd_open(struct vb_async_fd *ret);
void vb_async_fd_close(const struct vb_async_fd *fd);
/* In the child after fork(): the numbers stay, and nothing is readable. Allocates nothing. */
void vb_async_fd_forked(const struct vb_async_fd *fd);
/* What arrives on the server's socket makes async_fd readable, or does no longer. */
void vb_async_fd_watch(const struct vb_async_fd *fd, int server, bool yes);
/* One more event can be read. */
void vb_async_fd_signal(const struct vb_async_fd *fd);
/* Takes one event from the count. False, and errno: as read(2) of async_fd. A cancellation point:
 * calls cancelled(arg) when the thread is cancelled, perhaps after it took one. */
bool vb_async_fd_wait(const struct vb_async_fd *fd, void (*cancelled)(void *arg), void *arg);

#endif
