/* SPDX-License-Identifier: MIT */
/* The fixture of rsockets' tests: a stream is a connection from a client to a server, both of this
 * process. */
#ifndef TESTS_CLIENT_RSOCKET_FIXTURE_H
#define TESTS_CLIENT_RSOCKET_FIXTURE_H

#include <rdma/rsocket.h>
#include <sys/socket.h>

struct stream {
	int client, server; /* -1: closed by the test */
};

/* A listener at the device's address (RXE_DM_ADDRESS), and that address with its port. */
int listen_on(struct sockaddr_storage *ret);
/* sizes: RDMA_SQSIZE, RDMA_RQSIZE, SO_SNDBUF with SO_RCVBUF, RDMA_IOMAPSIZE; 0: the
 * default. */
int listen_on_sized(struct sockaddr_storage *ret, const int sizes[4]);
void stream_open(struct stream *s);
/* sizes: as those of listen_on_sized(), of both sides. */
void stream_open_sized(struct stream *s, const int sizes[4]);
void stream_close(struct stream *s);

#endif
