/* SPDX-License-Identifier: MIT */
/* The file of a capture, or the two files that hold its last packets. */
#ifndef RXE_DM_COMMAND_CAPTURE_FILE_H
#define RXE_DM_COMMAND_CAPTURE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "net/link/capture/pcapng.h"

struct capture_file {
	FILE *file;
	const char *name;
	char device[32];
	bool is_new; /* the file did not exist before */
	/* Both files together have at most this many bytes: the newer one becomes the older one
	 * before it would have more than half. 0: one file, without a limit. */
	uint64_t max_bytes;
	uint64_t bytes; /* in the newer file */
};

/* Opens a file; "-": standard output. What is no regular file has no limit. Old contents stay
 * until capture_file_start. Keeps the path. 0 or a negative errno. */
int capture_file_open(struct capture_file *ret, const char *path, uint64_t max_bytes);
/* Each returns 0 or a negative errno; -EMSGSIZE: the packet is too long for the format. What start
 * and flush have written is visible to readers, and what end has. */
int capture_file_start(struct capture_file *file, const char *device);
int capture_file_put(struct capture_file *file, const struct capture_packet *packet);
int capture_file_flush(const struct capture_file *file);
int capture_file_end(struct capture_file *file, const struct capture_totals *totals);
/* False: the last bytes could not be written. */
bool capture_file_close(const struct capture_file *file);

#endif
