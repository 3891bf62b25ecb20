// SPDX-License-Identifier: MIT
/* I/O maps of rsockets: memory of one side that the other one writes directly. */
#include <errno.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "fixture.h"
#include "rsocket_fixture.h"

#define LEN 200000

static uint8_t source[LEN], target[LEN];

/* A byte from the server to the client: what was mapped before is known there after it. */
static void meet_by(const struct stream *s)
{
	char byte;

	ck_assert_int_eq(rwrite(s->server, "x", 1), 1);
	ck_assert_int_eq(rread(s->client, &byte, 1), 1);
}

/* A byte from the client to the server: what was written before is there after it. */
static void meet_after_write(const struct stream *s)
{
	char byte;

	ck_assert_int_eq(rwrite(s->client, "x", 1), 1);
	ck_assert_int_eq(rread(s->server, &byte, 1), 1);
}

static void open_mapped(struct stream *s)
{
	memset(target, 0, LEN);
	fill(source, LEN, 1);
	stream_open_sized(s, (int[4]){ 0, 0, 0, 2 });
}

START_TEST(written_before_the_message_that_follows)
{
	struct stream s;

	open_mapped(&s);
	ck_assert_int_eq(riomap(s.server, target, LEN, PROT_WRITE, 0, 4096), 4096);
	meet_by(&s);
	ck_assert_int_eq((ssize_t)riowrite(s.client, source, LEN, 4096, 0), LEN);
	meet_after_write(&s);
	ck_assert_mem_eq(target, source, LEN);
	/* A piece in the middle, of a few bytes. */
	ck_assert_int_eq((ssize_t)riowrite(s.client, "abc", 3, 4096 + 1000, 0), 3);
	meet_after_write(&s);
	ck_assert_mem_eq(target + 1000, "abc", 3);
	ck_assert_mem_eq(target + 1003, source + 1003, LEN - 1003);
	ck_assert_int_eq(riounmap(s.server, target, LEN), 0);
	stream_close(&s);
}
END_TEST

/* Offset -1 is the address; two mappings side by side are written as one. */
START_TEST(offsets)
{
	struct stream s;
	off_t at;

	open_mapped(&s);
	/* No memory is there. The entry stays free. */
	ck_assert_int_eq(riomap(s.server, NULL, 1000, PROT_WRITE, 0, 0), -1);
	ck_assert_int_eq(errno, EFAULT);
	at = riomap(s.server, target, 1000, PROT_WRITE, 0, -1);
	ck_assert_int_eq(at, (off_t)(uintptr_t)target);
	ck_assert_int_eq(riomap(s.server, target + 1000, 1000, PROT_WRITE, 0, at + 1000),
			 at + 1000);
	ck_assert_int_eq(riomap(s.server, target + 2000, 1000, PROT_WRITE, 0, 0), -1);
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(riomap(s.server, target, LEN, PROT_NONE, 0, 0), 0);
	meet_by(&s);
	ck_assert_int_eq((ssize_t)riowrite(s.client, source, 3000, at, 0), 2000);
	ck_assert_int_eq((ssize_t)riowrite(s.client, source, 1, 0, 0), 0);
	meet_after_write(&s);
	ck_assert_mem_eq(target, source, 2000);
	expect_zero(target + 2000, LEN - 2000);
	/* An entry that is free again takes another mapping. */
	ck_assert_int_eq(riounmap(s.server, target, 1000), 0);
	ck_assert_int_eq(riounmap(s.server, target, 1000), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(riomap(s.server, target + 5000, 1000, PROT_WRITE, 0, 0), 0);
	meet_by(&s);
	ck_assert_int_eq((ssize_t)riowrite(s.client, "y", 1, 0, 0), 1);
	meet_after_write(&s);
	ck_assert_uint_eq(target[5000], 'y');
	stream_close(&s);
}
END_TEST

START_TEST(only_what_the_peer_allows)
{
	int size = 300, fd = rsocket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(size);
	struct stream s;

	/* Above 128 a multiple of 256. */
	ck_assert_int_eq(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &size, sizeof(size)), 0);
	ck_assert_int_eq(rgetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &size, &len), 0);
	ck_assert_int_eq(size, 256);
	ck_assert_int_eq(riomap(fd, target, LEN, PROT_WRITE, 0, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq((ssize_t)riowrite(fd, source, 1, 0, 0), -1);
	ck_assert_int_eq(errno, ENOTCONN);
	rclose(fd);
	stream_open(&s);
	ck_assert_int_eq(riomap(s.server, target, LEN, PROT_WRITE, 0, 0), -1);
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(riomap(s.server, target, LEN, PROT_EXEC, 0, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	stream_close(&s);
}
END_TEST

/* More announcements than there are credits. */
START_TEST(announcements_take_credits_that_come_back)
{
	struct stream s;
	int i;

	stream_open_sized(&s, (int[4]){ 16, 16, 0, 1 });
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(riomap(s.server, target, LEN, PROT_WRITE, 0, i), i);
		meet_by(&s);
		ck_assert_int_eq((ssize_t)riowrite(s.client, source, 10, i, 0), 10);
		meet_after_write(&s);
		ck_assert_int_eq(riounmap(s.server, target, LEN), 0);
	}
	stream_close(&s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, written_before_the_message_that_follows);
	tcase_add_test(tests, offsets);
	tcase_add_test(tests, only_what_the_peer_allows);
	tcase_add_test(tests, announcements_take_credits_that_come_back);
}

int main(void)
{
	return fixture_main("rsocket_iomap", add);
}
