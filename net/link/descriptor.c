// SPDX-License-Identifier: MIT
/* Kept descriptors: numbered high, and marked. */
#include "net/link/descriptor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers stay below 1024, because programs select(2) on some of them. */
#define LOWEST	512
#define NUMBERS 256u

/* The kernel has no F_SETSIG: an open number counts as kept. */
static _Atomic bool no_marks;
/* Numbers are used in turn, so a number that is about to be closed is not reused at once. */
static _Atomic uint32_t turn;

/* Not close(2), which is a cancellation point. */
static void close_number(int fd)
{
	(void)syscall(SYS_close, fd);
}

static void mark(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGIO) < 0 && errno == EINVAL)
		atomic_store(&no_marks, true);
}

int descriptor_keep(int fd)
{
	int high;

	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST + (int)(atomic_fetch_add(&turn, 1) % NUMBERS));
	if (high >= 0) {
		close_number(fd);
		fd = high;
	}
	mark(fd);
	return fd;
}

bool descriptor_is_kept(int fd)
{
	if (atomic_load_explicit(&no_marks, memory_order_relaxed))
		return fcntl(fd, F_GETFD) >= 0;
	return fcntl(fd, F_GETSIG) > 0;
}

void descriptor_close(int fd)
{
	if (descriptor_is_kept(fd))
		close_number(fd);
}

void descriptor_replace(int kept, int fd)
{
	assert(fd >= 0 && fd != kept);
	if (descriptor_is_kept(kept) && dup3(fd, kept, O_CLOEXEC) >= 0)
		mark(kept);
	close_number(fd);
}
