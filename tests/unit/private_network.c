// SPDX-License-Identifier: MIT
/* A network namespace of the test's own, or exclusive use of the current one. */
#include "private_network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The lock is on the namespace itself. The kernel releases it when the process ends. */
static void wait_until_alone(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		perror("/proc/self/ns/net: no lock");
}

bool private_network(void)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	bool up;
	int fd;

	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
		wait_until_alone();
		return false;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &req) == 0;
	if (!up)
		perror("lo up");
	(void)close(fd);
	return up;
}
