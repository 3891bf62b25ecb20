// SPDX-License-Identifier: MIT
/* Calls that move data. Those whose name ends in _chk are what _FORTIFY_SOURCE makes of the
 * others. */
#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket_preload/preload.h"

#define PIECE 65536 /* of a file */

#pragma GCC visibility push(default)

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(recv)(fd, buf, len, flags) : rrecv(rsocket, buf, len, flags);
}

ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		 socklen_t *addrlen)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(recvfrom)(fd, buf, len, flags, addr, addrlen)
			   : rrecvfrom(rsocket, buf, len, flags, addr, addrlen);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(recvmsg)(fd, msg, flags) : rrecvmsg(rsocket, msg, flags);
}

ssize_t read(int fd, void *buf, size_t len)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(read)(fd, buf, len) : rread(rsocket, buf, len);
}

ssize_t readv(int fd, const struct iovec *iov, int n)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(readv)(fd, iov, n) : rreadv(rsocket, iov, n);
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(send)(fd, buf, len, flags) : rsend(rsocket, buf, len, flags);
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	       socklen_t addrlen)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(sendto)(fd, buf, len, flags, addr, addrlen)
			   : rsendto(rsocket, buf, len, flags, addr, addrlen);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(sendmsg)(fd, msg, flags) : rsendmsg(rsocket, msg, flags);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(write)(fd, buf, len) : rwrite(rsocket, buf, len);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	int rsocket = preload_find_stream(fd);

	return rsocket < 0 ? REAL(writev)(fd, iov, n) : rwritev(rsocket, iov, n);
}

/* One piece: what was read from the file and not sent is read again next time. */
static ssize_t send_piece(int rsocket, int in_fd, off_t at, size_t len)
{
	size_t most = len < PIECE ? len : PIECE;
	char *piece = malloc(most);
	ssize_t n;

	if (!piece)
		return -1;
	n = pread(in_fd, piece, most, at);
	if (n > 0)
		n = rsend(rsocket, piece, (size_t)n, 0);
	free(piece);
	return n;
}

ssize_t sendfile(int out_fd, int in_fd, off_t *offset, size_t len)
{
	int rsocket = preload_find_stream(out_fd);
	size_t sent = 0;
	ssize_t n = 1;
	off_t at;

	if (rsocket < 0)
		return REAL(sendfile)(out_fd, in_fd, offset, len);
	at = offset ? *offset : lseek(in_fd, 0, SEEK_CUR);
	if (at < 0)
		return -1;
	if (!len)
		return 0;
	while (sent < len && n > 0) {
		n = send_piece(rsocket, in_fd, at, len - sent);
		sent += n > 0 ? (size_t)n : 0;
		at += n > 0 ? n : 0;
	}
	if (offset)
		*offset = at;
	else
		lseek(in_fd, at, SEEK_SET);
	return sent || n == 0 ? (ssize_t)sent : -1;
}

#ifdef __GLIBC__
/* off_t has 64 bits either way. */
ssize_t sendfile64(int out_fd, int in_fd, off64_t *offset, size_t len)
	__attribute__((alias("sendfile")));
#endif

ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
		       socklen_t *addrlen);

ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	if (len > room)
		abort();
	return read(fd, buf, len);
}

ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	if (len > room)
		abort();
	return recv(fd, buf, len, flags);
}

ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
		       socklen_t *addrlen)
{
	if (len > room)
		abort();
	return recvfrom(fd, buf, len, flags, addr, addrlen);
}
