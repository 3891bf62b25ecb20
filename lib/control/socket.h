/* SPDX-License-Identifier: MIT */
/* The control socket's ground floor: names, whole messages with descriptors, and who is at the other end. */
#ifndef RXE_CONTROL_SOCKET_H
#define RXE_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "lib/control/protocol.h"

/* Names in the abstract namespace: scoped to the network namespace, and nothing is left behind. */
struct ctl_name {
	struct sockaddr_un addr;
	socklen_t len;
};

/* \0rxe_dm/UID/INSTANCE and, behind it, the server's ends of cmd_fds: .../cmd/DEVICE.CONTEXT.SERIAL */
void ctl_name_server(struct ctl_name *ret, uid_t uid, const char *instance);
void ctl_name_cmd(struct ctl_name *ret, uid_t uid, const char *instance, uint32_t device,
		  uint32_t context, uint64_t serial);
/* Is this descriptor a cmd_fd of a server of this user? */
bool ctl_is_cmd_fd(int fd);

/* One whole message with up to CTL_MAX_FDS descriptors. 0, or a negative errno: -EAGAIN, -EPIPE when the other side has
 * gone, ... Never raises SIGPIPE. */
int ctl_send(int sock, const void *msg, size_t len, const int *fds, size_t num_fds, int flags);
/* Bytes received, 0 at the end, or a negative errno. Descriptors that come are CLOEXEC and go to fds; *ret_num says how many
 * (those beyond max are closed). A message longer than len is -EMSGSIZE. */
ssize_t ctl_recv(int sock, void *msg, size_t len, int *fds, size_t max_fds, size_t *ret_num,
		 int flags);
void ctl_close_fds(const int *fds, size_t num);

/* Process and user at the other end of a connection: for the client, whoever called listen(). */
int ctl_peer(int sock, pid_t *ret_pid, uid_t *ret_uid);

#endif
