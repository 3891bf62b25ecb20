/* SPDX-License-Identifier: MIT */
/* The descriptors that programs and the background thread wait on: eventfds that count. */
#ifndef RXE_PROGRESS_EVENTFD_H
#define RXE_PROGRESS_EVENTFD_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/descriptor.h"

/* fd: of descriptor_keep(). What has its number after the program closed it is left alone. */

/* One more. Callers hold locks: write(2) by itself would be a cancellation point. */
static inline void vb_eventfd_signal(int fd)
{
	const uint64_t one = 1;

	/* A full counter is readable as it is. */
	if (descriptor_is_kept(fd) && syscall(SYS_write, fd, &one, sizeof(one)) < 0)
		return;
}

/* One less, when there is one: a cancellation point, as read(2) is. A thread that is cancelled may have taken the count with
 * it: cancelled(arg) is called then. False, and errno: as read(2). */
static inline bool vb_eventfd_wait(int fd, void (*cancelled)(void *arg), void *arg)
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
