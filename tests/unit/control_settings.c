// SPDX-License-Identifier: MIT
/* Settings: accepted and refused values. The message names the variable, its value and what is
 * expected. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/settings.h"
#include "tests/suite.h"

static struct ctl_settings settings;
static char why[CTL_WHY_MAX];

static void setup(void)
{
	ctl_settings_init(&settings);
	for (size_t i = 0; i < ctl_setting_count; i++)
		unsetenv(ctl_setting_table[i].env);
}

static bool set(const char *option, const char *value)
{
	return ctl_settings_set(&settings, ctl_setting_find(option), option, value, why);
}

START_TEST(sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "64K", 65536 },     { "65536", 65536 },   { "64M", 64 << 20 },
		{ "1g", 1ull << 30 }, { "1T", 1ull << 40 }, { "100000", 100000 },
	};
	static const char *const bad[] = { "",
					   "K",
					   "63K",
					   "0",
					   "-1",
					   "64MB",
					   "64 M",
					   "1.5M",
					   "+64M",
					   "0x100000",
					   "2T",
					   "99999999999999999999",
					   "18446744073709551616K" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(set("arena", good[i].text), "%s", good[i].text);
		ck_assert_uint_eq(settings.arena_bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!set("arena", bad[i]), "%s", bad[i]);
	ck_assert_uint_eq(settings.arena_bytes, 100000);
}
END_TEST

START_TEST(numbers_and_switches)
{
	ck_assert(set("devices", "16") && settings.devices == 16);
	ck_assert(!set("devices", "17") && !set("devices", "0") && !set("devices", "1x"));
	ck_assert(set("linger", "0") && settings.linger_s == 0);
	ck_assert(!set("linger", "-1") && !set("linger", " 1") && !set("linger", ""));
	ck_assert(set("slots", "2") && !set("slots", "1") && !set("slots", "257"));
	ck_assert(set("allow-users", "0,1000") && settings.num_allowed_users == 2);
	ck_assert(settings.allowed_user[1] == 1000 && !settings.allow_all_users);
	ck_assert(set("allow-users", "all") && settings.allow_all_users);
	ck_assert(!set("allow-users", "") && !set("allow-users", "1,") &&
		  !set("allow-users", "bob"));
	ck_assert(set("trains", "off") && !settings.trains);
	ck_assert(set("trains", "1") && settings.trains);
	ck_assert(!set("trains", "maybe") && !set("trains", "ON") && !set("trains", ""));
	ck_assert(set("mlx5", "yes") && settings.mlx5);
	ck_assert(set("raw-privilege", "on") && settings.raw_privilege);
	ck_assert(set("stopped", "lose") && settings.stopped == CTL_STOPPED_LOSE);
	ck_assert(set("stopped", "wait") && settings.stopped == CTL_STOPPED_WAIT);
	ck_assert(!set("stopped", "kill"));
	ck_assert(set("arena-pages", "huge") && settings.arena_pages == CTL_PAGES_HUGE);
	ck_assert(set("arena-pages", "auto") && settings.arena_pages == CTL_PAGES_AUTO);
	ck_assert(set("arena-pages", "small") && settings.arena_pages == CTL_PAGES_SMALL);
	ck_assert(!set("arena-pages", "2M") && settings.arena_pages == CTL_PAGES_SMALL);
}
END_TEST

START_TEST(instances)
{
	ck_assert(set("instance", "a-Z_0.9") && strcmp(settings.instance, "a-Z_0.9") == 0);
	ck_assert(set("instance", "12345678901234567890123456789012"));
	ck_assert(!set("instance", "123456789012345678901234567890123"));
	ck_assert(!set("instance", "") && !set("instance", "a/b") && !set("instance", "a b"));
}
END_TEST

START_TEST(addresses)
{
	static const char *const bad[] = {
		"",
		"localhost",
		"127.0.0",
		"127.0.0.256",
		"0.0.0.0",
		"::",
		"224.0.0.1",
		"ff02::1",
		"240.0.0.1",
		"127.0.0.1,",
		",127.0.0.1",
		"127.0.0.1 ",
		"::ffff:0.0.0.0",
		"127.0.0.1,127.0.0.1",
		"127.0.0.1,::ffff:127.0.0.1",
		/* one more than allowed */
		("1::1,1::2,1::3,1::4,1::5,1::6,1::7,1::8,1::9,1::a,1::b,1::c,1::d,1::e,1::f,2::,3:"
		 ":"),
	};
	char text[CTL_GID_STR_MAX];

	ck_assert(set("address", "127.0.0.2,fd00::1"));
	ck_assert_uint_eq(settings.num_addresses, 2);
	ck_assert(gid_is_v4(&settings.address[0]) && !gid_is_v4(&settings.address[1]));
	ck_assert_str_eq(ctl_gid_str(&settings.address[0], text), "127.0.0.2");
	ck_assert_str_eq(ctl_gid_str(&settings.address[1], text), "fd00::1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!set("address", bad[i]), "'%s'", bad[i]);
	ck_assert_uint_eq(settings.num_addresses, 2);
}
END_TEST

START_TEST(messages_name_the_variable)
{
	setenv("RXE_DM_ARENA", "lots", 1);
	ck_assert(!ctl_settings_from_env(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "RXE_DM_ARENA"));
	ck_assert_ptr_nonnull(strstr(why, "'lots'"));
	ck_assert_ptr_nonnull(strstr(why, "64M"));

	setenv("RXE_DM_ARENA", "", 1); /* empty counts as not set */
	setenv("RXE_DM_LINGER", "7", 1);
	ck_assert(ctl_settings_from_env(&settings, why));
	ck_assert_uint_eq(settings.linger_s, 7);
	ck_assert_uint_eq(settings.arena_bytes, 64 << 20);
}
END_TEST

START_TEST(devices_and_addresses_agree)
{
	ck_assert(ctl_settings_check(&settings, why));
	ck_assert_uint_eq(settings.devices, 1);

	setup();
	ck_assert(set("address", "127.0.0.2,127.0.0.3") && ctl_settings_check(&settings, why));
	ck_assert_uint_eq(settings.devices, 2);

	ck_assert(set("devices", "3") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "3 devices"));
}
END_TEST

START_TEST(links)
{
	ck_assert(settings.link == CTL_LINK_AUTO);
	ck_assert(set("link", "udp") && settings.link == CTL_LINK_UDP);
	ck_assert(set("link", "auto") && settings.link == CTL_LINK_AUTO);
	ck_assert(set("link", "memory") && settings.link == CTL_LINK_MEMORY);
	ck_assert(set("link", "ethernet") && settings.link == CTL_LINK_ETHERNET);
	ck_assert(!set("link", "VETH") && !set("link", "") && settings.link == CTL_LINK_ETHERNET);
	ck_assert(set("interface", "fifteen-letters"));
	ck_assert(!set("interface", "sixteen-letters!") && !set("interface", "a/b"));
	ck_assert_str_eq(settings.interface, "fifteen-letters");

	ck_assert(set("address", "10.77.0.9/24,fd77::9/64,10.0.0.1"));
	ck_assert_uint_eq(settings.prefix_len[0], 24);
	ck_assert_uint_eq(settings.prefix_len[1], 64);
	ck_assert_uint_eq(settings.prefix_len[2], 0);
	ck_assert(set("address", "fd00:1111:2222:3333:4444:5555:6666:7777/128"));
	ck_assert(!set("address", "10.77.0.9/33") && !set("address", "10.77.0.9/0") &&
		  !set("address", "10.77.0.9/") && !set("address", "10.77.0.9/2 4") &&
		  !set("address", "fd77::9/129") && !set("address", "/24"));
}
END_TEST

/* Settings of the other link are refused, never ignored. */
START_TEST(links_get_what_is_theirs)
{
	ck_assert(set("link", "ethernet") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "--interface"));
	ck_assert(set("interface", "va") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "--address"));
	ck_assert(set("address", "10.77.0.9/24") && ctl_settings_check(&settings, why));
	ck_assert(set("gateway", "fd77::1") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "--gateway"));
	ck_assert(set("gateway", "10.77.0.1") && ctl_settings_check(&settings, why));

	ck_assert(set("link", "udp") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "has no use for an interface"));
	setup();
	ck_assert(set("gateway", "10.77.0.1") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "has no use for a gateway"));
	setup();
	ck_assert(set("address", "127.0.0.2/8") && !ctl_settings_check(&settings, why));
	ck_assert_ptr_nonnull(strstr(why, "prefix"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_settings");
	TCase *tcase = tcase_create("parse");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, sizes);
	tcase_add_test(tcase, numbers_and_switches);
	tcase_add_test(tcase, instances);
	tcase_add_test(tcase, addresses);
	tcase_add_test(tcase, messages_name_the_variable);
	tcase_add_test(tcase, devices_and_addresses_agree);
	tcase_add_test(tcase, links);
	tcase_add_test(tcase, links_get_what_is_theirs);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
