// SPDX-License-Identifier: MIT
/* Kept descriptors: numbered high, and marked. */
#include "net/link/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Below 1024: programs select(2) on some. */
#define LOWEST	512
#define NUMBERS 256u

/* A kernel without F_SETSIG: numbers are trusted. */
static _Atomic bool no_marks;
/* Numbers are given in turn, so that one which is still to be closed is not another's yet. */
static _Atomic uint32_t turn;

/* close(2) by itself would be a cancellation point. */
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
	if (descriptor_is_kept(kept) && dup3(fd, kept, O_CLOEXEC) >= 0)
		mark(kept);
	close_number(fd);
}
