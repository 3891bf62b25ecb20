/* SPDX-License-Identifier: MIT */
/* eventfds, which programs and the background thread wait on. */
#ifndef RXE_PROGRESS_EVENTFD_H
#define RXE_PROGRESS_EVENTFD_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/descriptor.h"

/* fd: of descriptor_keep(). A number that the program closed and another descriptor has now is left
 * alone. */

/* Adds one to the count. Callers hold locks, so the write must not be a cancellation point, as
 * write(2) is. */
static inline void eventfd_signal(int fd)
{
	const uint64_t one = 1;

	/* Fails only when the counter is full, and the descriptor readable. */
	if (descriptor_is_kept(fd) && syscall(SYS_write, fd, &one, sizeof(one)) < 0)
		return;
}

/* Takes one from the count; waits until there is one. A cancellation point, like read(2): calls
 * cancelled(arg) when the thread is cancelled, perhaps after it took the count. False, and errno:
 * as read(2). */
static inline bool eventfd_wait(int fd, void (*cancelled)(void *arg), void *arg)
{
	uint64_t count;
	ssize_t n;

	if (!descriptor_is_kept(fd)) {
		errno = EBADF;
		return false;
	}
	pthread_cleanup_push(cancelled, arg);
	n = read(fd, &count, sizeof(count));
	pthread_cleanup_pop(0);
	return n > 0;
}

#endif
