// SPDX-License-Identifier: MIT
/* The file stays open: later the server may have no descriptor left. */
#include "rxe_dm/server/random.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/control/log.h"

#define FILE_NAME "/dev/urandom"

static int file = -1;

/* 0 or a negative errno. */
static int read_file(uint8_t *ret, size_t len)
{
	ssize_t n;

	if (file < 0)
		file = open(FILE_NAME, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	for (; len; ret += n, len -= (size_t)n) {
		n = read(file, ret, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int fill(void *ret, size_t len)
{
	if (getrandom(ret, len, 0) == (ssize_t)len)
		return 0;
	return read_file((uint8_t *)ret, len);
}

bool random_check(void)
{
	uint8_t byte;
	const int rc = fill(&byte, sizeof(byte));

	if (rc)
		ctl_log(CTL_LOG_ERROR,
			"no random numbers: a filter refuses getrandom(2), and " FILE_NAME
			" fails: %s; allow one of them",
			strerror(-rc));
	return rc == 0;
}

void random_fill(void *ret, size_t len)
{
	const int rc = fill(ret, len);

	assert(rc == 0);
}
