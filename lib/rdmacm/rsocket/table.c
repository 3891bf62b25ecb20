// SPDX-License-Identifier: MIT
/* The table of descriptors: an array by number. */
#include "lib/rdmacm/rsocket/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/rsocket.h"

#define FEWEST_ENTRIES 1024

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

__attribute__((constructor)) static void prepare(void)
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
