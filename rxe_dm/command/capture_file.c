// SPDX-License-Identifier: MIT
/* The limit of the files holds by construction: capture_file_put() looks before each packet,
 * however many of them arrive together. */
#include "rxe_dm/command/capture_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BUFFER (1u << 20)

int capture_file_open(struct capture_file *ret, const char *path, uint64_t max_bytes)
{
	const bool to_stdout = strcmp(path, "-") == 0;
	struct stat st;

	*ret = (struct capture_file){
		.name = to_stdout ? "standard output" : path,
		.is_new = !to_stdout && access(path, F_OK) != 0,
		.max_bytes = max_bytes,
	};
	ret->file = to_stdout ? stdout : fopen(path, "abe");
	if (!ret->file)
		return -errno;
	/* Pipes and devices keep nothing, and have no older file. */
	if (fstat(fileno(ret->file), &st) || to_stdout || !S_ISREG(st.st_mode))
		ret->max_bytes = 0;
	setvbuf(ret->file, NULL, _IOFBF, FILE_BUFFER);
	return 0;
}

int capture_file_flush(const struct capture_file *file)
{
	if (fflush(file->file) == 0)
		return 0;
	return errno ? -errno : -EIO;
}

/* Adds what a function of pcapng.h has written. */
static int add(struct capture_file *file, ssize_t written)
{
	if (written < 0)
		return (int)written;
	file->bytes += (uint64_t)written;
	return 0;
}

int capture_file_start(struct capture_file *file, const char *device)
{
	int rc;

	if (device != file->device)
		snprintf(file->device, sizeof(file->device), "%s", device);
	/* EINVAL: a pipe. */
	if (file->file != stdout && ftruncate(fileno(file->file), 0) && errno != EINVAL)
		return -errno;
	file->bytes = 0;
	rc = add(file, capture_write_start(file->file, file->device));
	return rc ? rc : capture_file_flush(file);
}

/* Sets "packets.old.pcapng" for packets.pcapng. */
static void older_name(char ret[static PATH_MAX], const char *name)
{
	const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
	const size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - name) : strlen(name);

	snprintf(ret, PATH_MAX, "%.*s.old%s", (int)stem, name, name + stem);
}

static int turn_over(struct capture_file *file)
{
	char older[PATH_MAX];
	int rc = capture_file_flush(file);

	older_name(older, file->name);
	if (!rc && rename(file->name, older))
		rc = -errno;
	if (rc)
		return rc;
	file->file = freopen(file->name, "we", file->file);
	if (!file->file)
		return -errno;
	setvbuf(file->file, NULL, _IOFBF, FILE_BUFFER);
	return capture_file_start(file, file->device);
}

/* The end of the file needs its bytes as well. */
static bool is_full(const struct capture_file *file, const struct capture_packet *packet)
{
	return file->max_bytes > 0 &&
	       file->bytes + CAPTURE_PACKET_ROOM(packet->len) + CAPTURE_END_ROOM >
		       file->max_bytes / 2;
}

int capture_file_put(struct capture_file *file, const struct capture_packet *packet)
{
	const int rc = is_full(file, packet) ? turn_over(file) : 0;

	return rc ? rc : add(file, capture_write_packet(file->file, packet));
}

int capture_file_end(struct capture_file *file, const struct capture_totals *totals)
{
	int rc;

	/* The next file could not be opened. */
	if (!file->file)
		return -EBADF;
	rc = add(file, capture_write_end(file->file, totals));
	return rc ? rc : capture_file_flush(file);
}

bool capture_file_close(const struct capture_file *file)
{
	return !file->file || fclose(file->file) == 0;
}
