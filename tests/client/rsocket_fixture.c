// SPDX-License-Identifier: MIT
/* The fixture of rsockets' tests. */
#include "rsocket_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>

static void set_sizes(int fd, const int sizes[4])
{
	if (sizes[0])
		ck_assert_int_eq(rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &sizes[0], 4), 0);
	if (sizes[1])
		ck_assert_int_eq(rsetsockopt(fd, SOL_RDMA, RDMA_RQSIZE, &sizes[1], 4), 0);
	if (sizes[3])
		ck_assert_int_eq(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &sizes[3], 4), 0);
	if (!sizes[2])
		return;
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sizes[2], 4), 0);
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sizes[2], 4), 0);
}

int listen_on_sized(struct sockaddr_storage *ret, const int sizes[4])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(*ret);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(inet_pton(AF_INET, getenv("RXE_DM_ADDRESS"), &addr.sin_addr), 1);
	set_sizes(fd, sizes);
	ck_assert_int_eq(rbind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rlisten(fd, 16), 0);
	ck_assert_int_eq(rgetsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

int listen_on(struct sockaddr_storage *ret)
{
	return listen_on_sized(ret, (int[4]){ 0 });
}

void stream_open_sized(struct stream *s, const int sizes[4])
{
	struct sockaddr_storage addr;
	int listener = listen_on_sized(&addr, sizes);

	s->client = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(s->client, 0);
	set_sizes(s->client, sizes);
	ck_assert_int_eq(rconnect(s->client, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)),
			 0);
	s->server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(s->server, 0);
	ck_assert_int_eq(rclose(listener), 0);
}

void stream_open(struct stream *s)
{
	stream_open_sized(s, (int[4]){ 0 });
}

void stream_close(struct stream *s)
{
	if (s->client >= 0)
		ck_assert_int_eq(rclose(s->client), 0);
	if (s->server >= 0)
		ck_assert_int_eq(rclose(s->server), 0);
}
