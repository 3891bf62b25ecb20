// SPDX-License-Identifier: MIT
/* The keys of a profile: parsed, printed, documented, and those of the installed files. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/supported.h"
#include "lib/control/profile.h"
#include "tests/suite.h"

static struct ctl_profile profile;
static char why[CTL_PROFILE_WHY];
static uint32_t line;

static void setup(void)
{
	ctl_profile_init(&profile);
}

static bool read_text(const char *text)
{
	char copy[4096];
	FILE *from;
	bool ok;

	snprintf(copy, sizeof(copy), "%s", text);
	from = fmemopen(copy, strlen(copy), "r");
	ck_assert_ptr_nonnull(from);
	ok = ctl_profile_read(&profile, from, &line, why);
	fclose(from);
	return ok;
}

static bool read_installed(const char *name)
{
	char path[512];
	FILE *from;
	bool ok;

	snprintf(path, sizeof(path), "%s/rxe_dm/profiles/%s", SOURCE_ROOT, name);
	from = fopen(path, "r");
	ck_assert_ptr_nonnull(from);
	ok = ctl_profile_read(&profile, from, &line, why);
	fclose(from);
	return ok;
}

START_TEST(what_is_printed_is_read)
{
	struct ctl_profile before;
	char text[4096] = "", value[CTL_PROFILE_TEXT];
	size_t len = 0;

	ck_assert_msg(read_installed("tiny"), "%u: %s", line, why);
	before = profile;
	for (size_t i = 0; i < ctl_key_count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s = %s\n",
					ctl_key_table[i].key,
					ctl_key_value(&ctl_key_table[i], &profile, value));
	ctl_profile_init(&profile);
	ck_assert_int_ne(memcmp(&before, &profile, sizeof(profile)), 0);
	ck_assert_msg(read_text(text), "%u: %s", line, why);
	ck_assert_int_eq(memcmp(&before, &profile, sizeof(profile)), 0);
}
END_TEST

/* The installed default has every key, and changes nothing. */
START_TEST(the_default_is_the_default)
{
	const struct ctl_profile before = profile;

	memset(&profile, 0, sizeof(profile));
	memcpy(profile.name, before.name, sizeof(profile.name));
	memcpy(profile.fw_ver, before.fw_ver, sizeof(profile.fw_ver)); /* changes with releases */
	ck_assert_msg(read_installed("default"), "%u: %s", line, why);
	ck_assert_int_eq(memcmp(&before, &profile, sizeof(profile)), 0);
}
END_TEST

START_TEST(the_installed_ones_are_read)
{
	static const char *const names[] = { "rxe", "connectx", "tiny" };

	ck_assert_msg(read_installed(names[_i]), "%u: %s", line, why);
}
END_TEST

/* A file cannot turn on what the build leaves out. */
START_TEST(parts_left_out_stay_off)
{
	ck_assert_uint_eq(profile.raw_packet, RXE_RAW_SUPPORTED);
	ck_assert_uint_eq(profile.flush, RXE_PERSISTENCE_SUPPORTED);
	ck_assert_msg(read_text("raw_packet = off\nflush = off\n"), "%s", why);
	ck_assert(!profile.raw_packet && !profile.flush);
	ck_assert_msg(read_text("raw_packet = on\nflush = on\n"), "%s", why);
	ck_assert_uint_eq(profile.raw_packet, RXE_RAW_SUPPORTED);
	ck_assert_uint_eq(profile.flush, RXE_PERSISTENCE_SUPPORTED);
}
END_TEST

START_TEST(errors_name_their_line)
{
	ck_assert(!read_text("xrc = off\n\n  max_qp 3\n") && line == 3);
	ck_assert_ptr_nonnull(strstr(why, "'max_qp 3' is no 'key = value'"));
	ck_assert(!read_text("max_qp = 3\nmax_qp = 3\n") && line == 2);
	ck_assert_ptr_nonnull(strstr(why, "line 1 already"));
	ck_assert(!read_text("Max_qp = 3\n") && line == 1);
	ck_assert_ptr_nonnull(strstr(why, "no key 'Max_qp'"));
}
END_TEST

START_TEST(bounds_are_kept)
{
	char text[128];

	for (size_t i = 0; i < ctl_key_count; i++) {
		const struct ctl_key *key = &ctl_key_table[i];

		if (key->kind != CTL_KEY_NUMBER && key->kind != CTL_KEY_SIZE)
			continue;
		snprintf(text, sizeof(text), "%s = %llu\n", key->key, (unsigned long long)key->max);
		ck_assert_msg(read_text(text), "%s%s", text, why);
		snprintf(text, sizeof(text), "%s = 0x%llx\n", key->key,
			 (unsigned long long)key->min);
		ck_assert_msg(read_text(text), "%s%s", text, why);
		snprintf(text, sizeof(text), "%s = %llu\n", key->key,
			 (unsigned long long)key->max + 1);
		ck_assert_msg(!read_text(text), "%s", text);
		snprintf(text, sizeof(text), "%s = %lld\n", key->key, (long long)key->min - 1);
		ck_assert_msg(!read_text(text), "%s", text);
	}
	ck_assert(read_text("max_dm_size = 64k\n") && profile.max_dm_size == 65536);
	ck_assert(!read_text("max_dm_size = 64kB\n") && !read_text("max_dm_size = 17179869184G\n"));
}
END_TEST

/* rxe_dm-profile(5) has each key with what is expected of it, in the order of the table. */
START_TEST(the_manual_has_every_key)
{
	char path[512], entry[256], expects[CTL_KEY_EXPECTS], text[65536];
	const char *at = text;
	size_t len;
	FILE *page;

	snprintf(path, sizeof(path), "%s/docs/rxe_dm-profile.5", SOURCE_ROOT);
	page = fopen(path, "r");
	ck_assert_ptr_nonnull(page);
	len = fread(text, 1, sizeof(text) - 1, page);
	fclose(page);
	text[len] = '\0';
	for (size_t i = 0; i < ctl_key_count; i++) {
		snprintf(entry, sizeof(entry), "\n.BR %s \" (%s)\"\n", ctl_key_table[i].key,
			 ctl_key_expects(&ctl_key_table[i], expects));
		at = strstr(at, entry);
		ck_assert_msg(at, "rxe_dm-profile.5 lacks, or has elsewhere:%s", entry);
	}
}
END_TEST

START_TEST(rates_are_those_of_linux)
{
	char rate[CTL_PROFILE_RATE];

	ck_assert_str_eq(ctl_profile_rate(&profile, rate), "40 Gb/sec (4X FDR10)");
	ck_assert(read_text("active_width = 1x\nactive_speed = sdr\n"));
	ck_assert_str_eq(ctl_profile_rate(&profile, rate), "2.5 Gb/sec (1X SDR)");
	ck_assert(read_text("active_width = 4X\nactive_speed = HDR\n"));
	ck_assert_str_eq(ctl_profile_rate(&profile, rate), "200 Gb/sec (4X HDR)");
	ck_assert_uint_eq(ctl_profile_speed(&profile), 2000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_profile");
	TCase *tcase = tcase_create("keys");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, what_is_printed_is_read);
	tcase_add_test(tcase, the_default_is_the_default);
	tcase_add_loop_test(tcase, the_installed_ones_are_read, 0, 3);
	tcase_add_test(tcase, parts_left_out_stay_off);
	tcase_add_test(tcase, errors_name_their_line);
	tcase_add_test(tcase, bounds_are_kept);
	tcase_add_test(tcase, the_manual_has_every_key);
	tcase_add_test(tcase, rates_are_those_of_linux);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
