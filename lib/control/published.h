/* SPDX-License-Identifier: MIT */
/* Devices that a server publishes to the other instances of its user on this machine, whatever
 * their network namespaces: a process finds the process of a peer by them, to see whether it is
 * stopped.
 *
 * A symbolic link for each device names the device's address, and leads to its shared memory, a
 * descriptor of the server's in /proc. It is in /dev/shm, or in the folder of the lab that the
 * server runs in. A reader needs the right to inspect the server (ptrace(2)), which another user
 * does not have, and trusts links and memory of its own user only. It sees servers of its own PID
 * namespace, where numbers of processes mean the same. */
#ifndef RXE_CONTROL_PUBLISHED_H
#define RXE_CONTROL_PUBLISHED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "net/wire/gid.h"

struct ctl_published_peer {
	int32_t pid;
	uint32_t epoch; /* the slot's when the process attached */
	char comm[16];
	char instance[CTL_NAME_MAX + 1];
};

/* Server. Best effort: where no link can be made, peers do not wait. Removes links of servers that
 * were killed. */
void ctl_publish(const char *instance, const struct gid *gid, int shared_fd);
void ctl_unpublish(const char *instance, const struct gid *gid);
/* Program. Reads the environment, before the first of the functions below. Thread-safe; only the
 * first call has an effect. */
void ctl_published_init(void);
/* The process with queue pair qpn on a device with this address, where that is connected to queue
 * pair dest_qpn. Two networks may have the same addresses: the numbers tell them apart. False:
 * there is none. Allocates nothing. */
bool ctl_published_find(const struct gid *gid, uint32_t qpn, uint32_t dest_qpn,
			struct ctl_published_peer *ret);
/* Whether a process is stopped that has a device with this address. */
bool ctl_published_has_stopped(const struct gid *gid);

#endif
