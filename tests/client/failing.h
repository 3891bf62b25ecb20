/* SPDX-License-Identifier: MIT */
/* Calls of libc that fail in one thread: memory, descriptors, waits. The library's calls find the
 * program's definitions, which are here, before libc's. Included by the program's one source. */
#ifndef TESTS_CLIENT_FAILING_H
#define TESTS_CLIENT_FAILING_H

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

static _Thread_local struct {
	unsigned int nth; /* the call that fails, counted from now on; 0: none */
	int err;	  /* the call that failed has it; 0: none did */
	unsigned int waits;
} failing;

/* The nth call of this thread fails from now on, once. */
static void fail_nth(unsigned int nth)
{
	failing.nth = nth;
	failing.err = 0;
}

/* No call fails any more. Returns the errno of the call that failed; 0: there were too few. */
static int fail_none(void)
{
	failing.nth = 0;
	return failing.err;
}

static bool fails(int err)
{
	if (!failing.nth || --failing.nth)
		return false;
	failing.err = errno = err;
	return true;
}

static bool wait_fails(int err)
{
	failing.waits++;
	return fails(err);
}

#pragma GCC visibility push(default)
/* clang-format off */
#define FAILING(type, name, params, args, result, failure)   \
	type name params                                  \
	{                                                 \
		type(*next) params;                       \
		if (failure)                              \
			return result;                    \
		*(void **)&next = dlsym(RTLD_NEXT, #name);\
		return next args;                         \
	}

FAILING(void *, malloc, (size_t len), (len), NULL, fails(ENOMEM))
FAILING(void *, calloc, (size_t n, size_t len), (n, len), NULL, fails(ENOMEM))
FAILING(void *, realloc, (void *old, size_t len), (old, len), NULL, fails(ENOMEM))
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t offset), (at, len, prot, flags, fd, offset),
	MAP_FAILED, fails(ENOMEM))
FAILING(int, eventfd, (unsigned int count, int flags), (count, flags), -1, fails(ENFILE))
FAILING(int, epoll_create1, (int flags), (flags), -1, fails(ENFILE))
FAILING(int, epoll_ctl, (int set, int op, int fd, struct epoll_event *event), (set, op, fd, event), -1, fails(ENOSPC))
FAILING(int, epoll_wait, (int set, struct epoll_event *events, int n, int timeout_ms), (set, events, n, timeout_ms), -1, wait_fails(EPERM))
FAILING(int, poll, (struct pollfd *fds, nfds_t n, int timeout_ms), (fds, n, timeout_ms), -1, wait_fails(EPERM))
FAILING(int, ppoll, (struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask), (fds, n, timeout, mask),
	-1, wait_fails(EPERM))
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, fails(ENFILE))
FAILING(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds), -1, fails(ENFILE))
FAILING(int, bind, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len), -1, fails(EPERM))
FAILING(int, connect, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len), -1, fails(EPERM))
/* clang-format on */
#pragma GCC visibility pop

#endif
