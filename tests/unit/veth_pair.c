// SPDX-License-Identifier: MIT
/* Two network namespaces joined by a veth pair, for tests: as root, or in a user namespace. */
#include "veth_pair.h"

#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ns_a, ns_b;

void pair_enter(enum pair_end end)
{
	ck_assert_int_eq(setns(end == PAIR_A ? ns_a : ns_b, CLONE_NEWNET), 0);
}

bool pair_run(const char *command)
{
	return system(command) == 0; /* NOLINT(cert-env33-c): the string is fixed */
}

/* A child stays in the second namespace while ip moves the peer there by the child's process id. */
static bool move_peer(void)
{
	int there[2], done[2];
	char command[80], c;
	bool moved = false;
	pid_t child;

	if (pipe(there) != 0 || pipe(done) != 0)
		return false;
	child = fork();
	if (child == 0) {
		(void)close(done[1]);
		if (setns(ns_b, CLONE_NEWNET) != 0 || write(there[1], "", 1) != 1)
			_exit(1);
		_exit(read(done[0], &c, 1) == 0 ? 0 : 1);
	}
	(void)close(there[1]);
	(void)snprintf(command, sizeof(command), "ip link set vb netns %d 2>/dev/null", (int)child);
	if (child > 0 && read(there[0], &c, 1) == 1)
		moved = pair_run(command);
	(void)close(there[0]);
	(void)close(done[0]);
	(void)close(done[1]);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	return moved;
}

int pair_make(void)
{
	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return -1;
	ns_a = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (unshare(CLONE_NEWNET) != 0)
		return -1;
	ns_b = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns_a < 0 || ns_b < 0 || setns(ns_a, CLONE_NEWNET) != 0)
		return -1;
	if (!pair_run("ip link add va mtu 9000 type veth peer name vb mtu 9000 2>/dev/null") ||
	    !move_peer() ||
	    !pair_run("ip link set lo up && ip addr add 10.77.0.1/24 dev va && "
		      "ip addr add fd77::1/64 dev va nodad && ip link set va up"))
		return -1;
	if (setns(ns_b, CLONE_NEWNET) != 0 ||
	    !pair_run("ip link set lo up && ip addr add 10.77.0.2/24 dev vb && "
		      "ip addr add fd77::2/64 dev vb nodad && ip link set vb up"))
		return -1;
	return setns(ns_a, CLONE_NEWNET);
}
