// SPDX-License-Identifier: MIT
/* An rsocket: its options at first, its references and its descriptor. */
#include "lib/rdmacm/rsocket/rsocket.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/datagram.h"

#define FEWEST_ENTRIES 1024 /* of the table */
#define FOLDER	       "/etc/rdma/rsocket/"

static uint32_t send_bytes = 128 << 10;
static uint32_t recv_bytes = 128 << 10;
static uint32_t sends = 384;
static uint32_t recvs = 384;
static uint32_t inline_bytes = 64;
static uint32_t iomap_size;
static uint32_t polling_us = 10;

static const struct {
	const char *path;
	uint32_t *value;
	uint32_t least, most;
} files[] = {
	{ FOLDER "wmem_default", &send_bytes, RS_BYTES_MIN, RS_BYTES_MAX },
	{ FOLDER "mem_default", &recv_bytes, RS_BYTES_MIN, RS_BYTES_MAX },
	{ FOLDER "sqsize_default", &sends, RS_ENTRIES_MIN, RS_ENTRIES_MAX },
	{ FOLDER "rqsize_default", &recvs, RS_ENTRIES_MIN, RS_ENTRIES_MAX },
	{ FOLDER "inline_default", &inline_bytes, 0, RS_ENTRIES_MAX },
	{ FOLDER "iomap_size", &iomap_size, 0, RS_IOMAP_MAX },
	{ FOLDER "polling_time", &polling_us, 0, 1000000 },
};

uint32_t rs_bounded(int64_t value, uint32_t least, uint32_t most)
{
	if (value < least)
		return least;
	return value > most ? most : (uint32_t)value;
}

static void read_files(void)
{
	long long value;
	FILE *f;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		f = fopen(files[i].path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%lld", &value) == 1)
			*files[i].value = rs_bounded(value, files[i].least, files[i].most);
		fclose(f);
	}
}

static void read_files_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_files);
}

static void set_defaults(struct rs_options *ret)
{
	read_files_once();
	*ret = (struct rs_options){
		.send_bytes = send_bytes,
		.recv_bytes = recv_bytes,
		.sends = sends,
		.recvs = recvs,
		.inline_bytes = inline_bytes,
		.iomap_size = rs_iomap_unscale(rs_iomap_scale(iomap_size)),
		.send_timeout_ns = -1,
		.recv_timeout_ns = -1,
		.linger_s = -1,
		.keep_idle_s = 7200,
	};
}

int64_t rs_polling_ns(void)
{
	read_files_once();
	return (int64_t)polling_us * 1000;
}

struct rsocket *rs_new(int domain)
{
	struct rsocket *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return NULL;
	rs->refs = 1;
	rs->fd = -1;
	rs->domain = domain;
	pthread_mutex_init(&rs->lock, NULL);
	set_defaults(&rs->options);
	return rs;
}

void rs_hold(struct rsocket *rs)
{
	atomic_fetch_add(&rs->refs, 1);
}

void rs_put(struct rsocket *rs)
{
	if (atomic_fetch_sub(&rs->refs, 1) != 1)
		return;
	assert(rs->state == RS_CLOSED);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

int rs_take_error(struct rsocket *rs)
{
	int err = rs->err;

	rs->err = 0;
	return err;
}

int rs_why_not_connected(struct rsocket *rs)
{
	int err = rs_take_error(rs);

	if (rs->state == RS_CLOSED)
		return EBADF;
	return err ? err : ENOTCONN;
}

int rs_set_nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ? rcm_errno() : 0;
}

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsocket **table;
static int table_len;

/* The rsockets of a parent belong to the parent. */
static void forget(void)
{
	pthread_mutex_init(&table_lock, NULL);
	table = NULL;
	table_len = 0;
}

static __attribute__((constructor)) void prepare(void)
{
	pthread_atfork(NULL, NULL, forget);
}

/* Under the lock. False: no memory. */
static bool grow(int fd)
{
	int len = table_len ? table_len : FEWEST_ENTRIES;
	struct rsocket **longer;

	while (len <= fd)
		len *= 2;
	longer = (struct rsocket **)realloc(table, (size_t)len * sizeof(*table));
	if (!longer)
		return false;
	memset(longer + table_len, 0, (size_t)(len - table_len) * sizeof(*table));
	table = longer;
	table_len = len;
	return true;
}

int rs_table_add(struct rsocket *rs)
{
	int of = rs->datagram ? rs->datagram->udp : rs->channel->fd;
	int fd = fcntl(of, F_DUPFD_CLOEXEC, 0);
	bool fits;

	if (fd < 0)
		return errno;
	pthread_mutex_lock(&table_lock);
	fits = fd < table_len || grow(fd);
	if (fits) {
		rs_hold(rs);
		rs->fd = fd;
		table[fd] = rs;
	}
	pthread_mutex_unlock(&table_lock);
	if (fits)
		return 0;
	close(fd);
	return ENOMEM;
}

struct rsocket *rs_table_remove(int fd)
{
	struct rsocket *rs = NULL;

	pthread_mutex_lock(&table_lock);
	if (fd >= 0 && fd < table_len) {
		rs = table[fd];
		table[fd] = NULL;
	}
	pthread_mutex_unlock(&table_lock);
	if (!rs)
		errno = EBADF;
	return rs;
}

struct rsocket *rs_find(int fd)
{
	struct rsocket *rs = NULL;

	pthread_mutex_lock(&table_lock);
	if (fd >= 0 && fd < table_len)
		rs = table[fd];
	if (rs)
		rs_hold(rs);
	pthread_mutex_unlock(&table_lock);
	return rs;
}

struct rsocket *rs_get_locked(int fd)
{
	struct rsocket *rs = rs_find(fd);

	if (!rs) {
		errno = EBADF;
		return NULL;
	}
	pthread_mutex_lock(&rs->lock);
	if (rs->state != RS_CLOSED)
		return rs;
	rs_put_locked(rs);
	errno = EBADF;
	return NULL;
}

void rs_put_locked(struct rsocket *rs)
{
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
}
