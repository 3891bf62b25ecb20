// SPDX-License-Identifier: MIT
/* Names, messages and descriptors of the control socket, the same for both of its ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/socket.h"

static void name_finish(struct ctl_name *name, int len)
{
	name->addr.sun_family = AF_UNIX;
	name->addr.sun_path[0] = '\0';
	name->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

void ctl_name_server(struct ctl_name *ret, uid_t uid, const char *instance)
{
	char *path = ret->addr.sun_path + 1;

	name_finish(ret, snprintf(path, sizeof(ret->addr.sun_path) - 1, "rxe_dm/%u/%.32s",
				  (unsigned int)uid, instance));
}

void ctl_name_cmd(struct ctl_name *ret, uid_t uid, const char *instance, uint32_t device,
		  uint32_t context, uint64_t serial)
{
	char *path = ret->addr.sun_path + 1;

	name_finish(ret, snprintf(path, sizeof(ret->addr.sun_path) - 1,
				  "rxe_dm/%u/%.32s/cmd/%x.%x.%llx", (unsigned int)uid, instance,
				  device, context, (unsigned long long)serial));
}

bool ctl_is_cmd_fd(int fd)
{
	struct sockaddr_un addr = { 0 };
	socklen_t len = sizeof(addr) - 1;
	uid_t uid = 0;
	pid_t pid = 0;

	if (getpeername(fd, (struct sockaddr *)&addr, &len) || addr.sun_family != AF_UNIX ||
	    len > sizeof(addr) - 1)
		return false;
	if (strncmp(addr.sun_path + 1, "rxe_dm/", 7) != 0 || !strstr(addr.sun_path + 1, "/cmd/"))
		return false;
	return ctl_peer(fd, &pid, &uid) == 0 && uid == geteuid();
}

union fd_room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * CTL_MAX_FDS)];
};

int ctl_send(int sock, const void *msg, size_t len, const int *fds, size_t num_fds, int flags)
{
	struct iovec iov = { .iov_len = len };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	union fd_room room = { 0 };
	ssize_t n;

	memcpy(&iov.iov_base, &msg, sizeof(msg)); /* sendmsg only reads it */
	if (num_fds) {
		room.header.cmsg_level = SOL_SOCKET;
		room.header.cmsg_type = SCM_RIGHTS;
		room.header.cmsg_len = CMSG_LEN(sizeof(int) * num_fds);
		memcpy(CMSG_DATA(&room.header), fds, sizeof(int) * num_fds);
		header.msg_control = room.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * num_fds);
	}
	do {
		n = sendmsg(sock, &header, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EMSGSIZE;
}

static void take_fds(struct msghdr *header, int *fds, size_t max_fds, size_t *ret_num)
{
	size_t taken = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (taken < max_fds)
				fds[taken++] = fd;
			else
				close(fd);
		}
	}
	*ret_num = taken;
}

ssize_t ctl_recv(int sock, void *msg, size_t len, int *fds, size_t max_fds, size_t *ret_num,
		 int flags)
{
	struct iovec iov = { .iov_base = msg, .iov_len = len };
	union fd_room room;
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room.bytes,
		.msg_controllen = sizeof(room.bytes),
	};
	size_t num = 0;
	ssize_t n;

	if (ret_num)
		*ret_num = 0;
	do {
		n = recvmsg(sock, &header, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	take_fds(&header, fds, max_fds, &num);
	if (header.msg_flags & MSG_TRUNC) {
		ctl_close_fds(fds, num);
		return -EMSGSIZE;
	}
	if (ret_num)
		*ret_num = num;
	return n;
}

void ctl_close_fds(const int *fds, size_t num)
{
	for (size_t i = 0; i < num; i++)
		close(fds[i]);
}

int ctl_peer(int sock, pid_t *ret_pid, uid_t *ret_uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	*ret_pid = cred.pid;
	*ret_uid = cred.uid;
	return 0;
}
