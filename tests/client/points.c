// SPDX-License-Identifier: MIT
/* What the library uses of the functions that are cancellation points, each of which looks and goes
 * on to libc's. */
#include "points.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Thread_local bool inside_verbs;
static _Atomic(const char *) noted;
static _Atomic uint32_t passed;

void points_watch(bool inside)
{
	inside_verbs = inside;
}

const char *points_noted(void)
{
	return atomic_load(&noted);
}

uint32_t points_passed(void)
{
	return atomic_load(&passed);
}

static bool may_be_cancelled(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, NULL);
	return state == PTHREAD_CANCEL_ENABLE;
}

static void *pass(const char *name)
{
	const char *none = NULL;

	if (inside_verbs && may_be_cancelled())
		atomic_compare_exchange_strong(&noted, &none, name);
	else
		atomic_fetch_add(&passed, 1);
	return dlsym(RTLD_NEXT, name);
}

#pragma GCC visibility push(default)
/* clang-format off */
#define POINT(type, name, params, args)                   \
	type name params                                  \
	{                                                 \
		type(*next) params;                       \
		*(void **)&next = pass(#name);            \
		return next args;                         \
	}

POINT(int, close, (int fd), (fd))
POINT(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len))
POINT(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len))
POINT(ssize_t, recv, (int fd, void *buf, size_t len, int flags), (fd, buf, len, flags))
POINT(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags))
POINT(int, recvmmsg, (int fd, struct mmsghdr *msg, unsigned int n, int flags, struct timespec *timeout),
      (fd, msg, n, flags, timeout))
POINT(ssize_t, send, (int fd, const void *buf, size_t len, int flags), (fd, buf, len, flags))
POINT(ssize_t, sendto, (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len),
      (fd, buf, len, flags, to, to_len))
POINT(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags))
POINT(int, sendmmsg, (int fd, struct mmsghdr *msg, unsigned int n, int flags), (fd, msg, n, flags))
POINT(int, connect, (int fd, const struct sockaddr *to, socklen_t to_len), (fd, to, to_len))
POINT(int, poll, (struct pollfd *fds, nfds_t n, int timeout_ms), (fds, n, timeout_ms))
POINT(int, epoll_wait, (int fd, struct epoll_event *events, int n, int timeout_ms), (fd, events, n, timeout_ms))
POINT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
POINT(ssize_t, getrandom, (void *buf, size_t len, unsigned int flags), (buf, len, flags))
POINT(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
POINT(int, pthread_join, (pthread_t thread, void **value), (thread, value))
POINT(FILE *, fopen, (const char *path, const char *mode), (path, mode))
/* clang-format on */
#pragma GCC visibility pop
