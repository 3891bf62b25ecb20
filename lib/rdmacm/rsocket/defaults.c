// SPDX-License-Identifier: MIT
/* Options of an rsocket that nobody has set. */
#include "lib/rdmacm/rsocket/defaults.h"

#include <stdio.h>

#include "lib/rdmacm/rsocket/rsocket.h"

#define FOLDER "/etc/rdma/rsocket/"

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

void rs_options_default(struct rs_options *ret)
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
