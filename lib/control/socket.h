/* SPDX-License-Identifier: MIT */
/* Sockets of the control protocol: names, whole messages with descriptors, and credentials. */
#ifndef RXE_CONTROL_SOCKET_H
#define RXE_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "lib/control/protocol.h"

/* A name in the abstract namespace: local to the network namespace, and removed with its socket. */
struct ctl_name {
	struct sockaddr_un addr;
	socklen_t len;
};

/* \0rxe_dm/UID/INSTANCE, and for the server's ends of cmd_fds .../cmd/DEVICE.CONTEXT.SERIAL */
void ctl_name_server(struct ctl_name *ret, uid_t uid, const char *instance);
void ctl_name_cmd(struct ctl_name *ret, uid_t uid, const char *instance, uint32_t device,
		  uint32_t context, uint64_t serial);
/* True: the descriptor is a cmd_fd of a server of this user. */
bool ctl_is_cmd_fd(int fd);

/* Sends one whole message with up to CTL_MAX_FDS descriptors. 0 or a negative errno: -EAGAIN;
 * -EPIPE: the peer has closed; ... Never raises SIGPIPE. */
int ctl_send(int sock, const void *msg, size_t len, const int *fds, size_t num_fds, int flags);
/* Returns the bytes received, 0 at the end, or a negative errno (-EMSGSIZE: longer than len). Up to
 * max_fds received descriptors, CLOEXEC, go to fds, *ret_num of them; others are closed. */
ssize_t ctl_recv(int sock, void *msg, size_t len, int *fds, size_t max_fds, size_t *ret_num,
		 int flags);
void ctl_close_fds(const int *fds, size_t num);

/* Process and user at the other end; for a client, of the process that called listen(). */
int ctl_peer(int sock, pid_t *ret_pid, uid_t *ret_uid);

#endif
