/* SPDX-License-Identifier: MIT */
/* The files of a capture never have more bytes than allowed, however many packets arrive together,
 * and both are whole. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rxe_dm/command/capture_file.h"
#include "tests/suite.h"

#define MAX_BYTES (256u << 10)
#define LEN	  4112u

static char folder[] = "capture-file-XXXXXX";
static char newer[64], older[64];

static void setup(void)
{
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(newer, sizeof(newer), "%s/packets.pcapng", folder);
	snprintf(older, sizeof(older), "%s/packets.old.pcapng", folder);
}

static void teardown(void)
{
	unlink(newer);
	unlink(older);
	rmdir(folder);
}

/* 0: there is no such file. */
static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int put(struct capture_file *file, uint64_t number)
{
	static uint8_t bytes[LEN];
	const struct capture_packet packet = {
		.time_ns = number,
		.src.raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
		.dst.raw = { [10] = 0xff, 0xff, 127, 0, 0, 2 },
		.p = bytes,
		.len = LEN,
		.comment = "program[7] QP 0x000011 RC",
	};

	return capture_file_put(file, &packet);
}

static uint32_t word(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

struct seen {
	uint64_t first, last, packets;
	bool has_end;
};

/* Reads a file from block to block: both lengths agree, and the last block ends the file. */
static struct seen read_file(const char *path)
{
	static uint8_t bytes[MAX_BYTES];
	struct seen seen = { 0 };
	FILE *file = fopen(path, "rb");
	size_t len;

	ck_assert_ptr_nonnull(file);
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	ck_assert_uint_eq(word(bytes), 0x0a0d0d0a);
	for (size_t at = 0; at < len; at += word(bytes + at + 4)) {
		const uint32_t type = word(bytes + at), block = word(bytes + at + 4);
		const uint64_t number = word(bytes + at + 16);

		ck_assert_uint_le(at + block, len);
		ck_assert_uint_eq(word(bytes + at + block - 4), block);
		seen.has_end |= type == 5;
		if (type != 6)
			continue;
		seen.first = seen.packets++ ? seen.first : number;
		seen.last = number;
	}
	return seen;
}

/* Ten times the limit, without a pause between two packets. */
START_TEST(the_limit_holds)
{
	const struct capture_totals totals = { .packets = 1 };
	const uint64_t packets = 10 * MAX_BYTES / LEN;
	struct capture_file file;
	struct seen before, after;

	ck_assert_int_eq(capture_file_open(&file, newer, MAX_BYTES), 0);
	ck_assert_int_eq(capture_file_start(&file, "rxe_dm0"), 0);
	for (uint64_t i = 0; i < packets; i++) {
		ck_assert_int_eq(put(&file, i), 0);
		ck_assert_uint_le(size_of(newer) + size_of(older), MAX_BYTES);
		ck_assert_uint_le(file.bytes + size_of(older), MAX_BYTES);
	}
	ck_assert_int_eq(capture_file_end(&file, &totals), 0);
	ck_assert(capture_file_close(&file));
	ck_assert_uint_le(size_of(newer), MAX_BYTES / 2);
	ck_assert_uint_le(size_of(older), MAX_BYTES / 2);
	ck_assert_uint_eq(file.bytes, size_of(newer));
	before = read_file(older);
	after = read_file(newer);
	/* Nothing is lost between the files. */
	ck_assert_uint_eq(after.last, packets - 1);
	ck_assert_uint_eq(after.first, before.last + 1);
	ck_assert_uint_gt(before.packets, MAX_BYTES / 2 / LEN - 3);
	ck_assert(after.has_end && !before.has_end);
}
END_TEST

START_TEST(without_a_limit)
{
	struct capture_file file;

	ck_assert_int_eq(capture_file_open(&file, newer, 0), 0);
	ck_assert_int_eq(capture_file_start(&file, "rxe_dm0"), 0);
	for (uint64_t i = 0; i < 2 * MAX_BYTES / LEN; i++)
		ck_assert_int_eq(put(&file, i), 0);
	ck_assert(capture_file_close(&file));
	ck_assert_uint_gt(size_of(newer), MAX_BYTES);
	ck_assert_uint_eq(size_of(older), 0);
}
END_TEST

/* A device is no file of last packets: it is not renamed. */
START_TEST(devices_have_no_limit)
{
	struct capture_file file;

	ck_assert_int_eq(symlink("/dev/null", newer), 0);
	ck_assert_int_eq(capture_file_open(&file, newer, MAX_BYTES), 0);
	ck_assert_int_eq(capture_file_start(&file, "rxe_dm0"), 0);
	for (uint64_t i = 0; i < 2 * MAX_BYTES / LEN; i++)
		ck_assert_int_eq(put(&file, i), 0);
	ck_assert(capture_file_close(&file));
	ck_assert_int_ne(access(older, F_OK), 0);
}
END_TEST

/* The old contents stay until the capture starts, and go then. */
START_TEST(starts_empty)
{
	struct capture_file file;

	ck_assert_int_eq(capture_file_open(&file, newer, 0), 0);
	ck_assert(file.is_new);
	ck_assert_int_eq(capture_file_start(&file, "rxe_dm0"), 0);
	ck_assert_int_eq(put(&file, 1), 0);
	ck_assert(capture_file_close(&file));
	ck_assert_int_eq(capture_file_open(&file, newer, 0), 0);
	ck_assert(!file.is_new);
	ck_assert_uint_gt(size_of(newer), LEN);
	ck_assert_int_eq(capture_file_start(&file, "rxe_dm0"), 0);
	ck_assert_uint_lt(size_of(newer), LEN);
	ck_assert(capture_file_close(&file));
}
END_TEST

START_TEST(errors_are_named)
{
	struct capture_file file;
	char path[128];
	int rc = 0;

	snprintf(path, sizeof(path), "%s/none/packets.pcapng", folder);
	ck_assert_int_eq(capture_file_open(&file, path, 0), -ENOENT);
	ck_assert_int_eq(capture_file_open(&file, newer, MAX_BYTES), 0);
	ck_assert_int_eq(capture_file_start(&file, "rxe_dm0"), 0);
	/* The older file cannot be replaced: it is a folder. */
	ck_assert_int_eq(mkdir(older, 0700), 0);
	for (uint64_t i = 0; rc == 0 && i < MAX_BYTES / LEN; i++)
		rc = put(&file, i);
	ck_assert_int_eq(rc, -EISDIR);
	ck_assert(capture_file_close(&file));
	rmdir(older);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture_file");
	TCase *tcase = tcase_create("capture_file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_limit_holds);
	tcase_add_test(tcase, without_a_limit);
	tcase_add_test(tcase, devices_have_no_limit);
	tcase_add_test(tcase, starts_empty);
	tcase_add_test(tcase, errors_are_named);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
