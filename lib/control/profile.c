// SPDX-License-Identifier: MIT
/* The table of a profile's keys, the default profile, and the parser of files. */
#include "lib/control/profile.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "emu/limits.h"
#include "emu/supported.h"

static const struct ctl_key_word switch_words[] = { { "off", 0 }, { "on", 1 }, { NULL, 0 } };
static const struct ctl_key_word atomic_words[] = { { "none", IBV_ATOMIC_NONE },
						    { "hca", IBV_ATOMIC_HCA },
						    { "glob", IBV_ATOMIC_GLOB },
						    { NULL, 0 } };
static const struct ctl_key_word mtu_words[] = { { "256", 256 },   { "512", 512 },
						 { "1024", 1024 }, { "2048", 2048 },
						 { "4096", 4096 }, { NULL, 0 } };
static const struct ctl_key_word width_words[] = { { "1X", 1 }, { "2X", 16 }, { "4X", 2 },
						   { "8X", 4 }, { "12X", 8 }, { NULL, 0 } };
/* Names of lane speeds: IBTA's, and Linux's in sysfs. */
static const struct ctl_key_word speed_words[] = { { "SDR", 1 },   { "DDR", 2 },   { "QDR", 4 },
						   { "FDR10", 8 }, { "FDR", 16 },  { "EDR", 32 },
						   { "HDR", 64 },  { "NDR", 128 }, { NULL, 0 } };

#define AT(member) .at = offsetof(struct ctl_profile, member)
#define TEXT(member)                                                                               \
	{                                                                                          \
#member, CTL_KEY_TEXT, AT(member)                                                  \
	}
#define SIZE(member, least, most)                                                                  \
	{                                                                                          \
#member, CTL_KEY_SIZE, AT(member), .min = least, .max = most                       \
	}
#define NUMBER(member, least, most)                                                                \
	{                                                                                          \
#member, CTL_KEY_NUMBER, AT(member), .min = least, .max = most                     \
	}
#define WORD(member, list)                                                                         \
	{                                                                                          \
#member, CTL_KEY_WORD, AT(member), .words = list                                   \
	}
/* is_built: 0 where the build leaves the feature out. It is then off, also where the file turns it
 * on. */
#define SWITCH_IF(member, is_built)                                                                \
	{                                                                                          \
#member, CTL_KEY_WORD, AT(member), .max = is_built, .words = switch_words          \
	}
#define SWITCH(member) SWITCH_IF(member, 1)

/* clang-format off */
const struct ctl_key ctl_key_table[] = {
	TEXT(fw_ver),
	TEXT(board_id),
	TEXT(hca_type),
	NUMBER(vendor_id, 0, 0xffffff),
	NUMBER(vendor_part_id, 0, UINT32_MAX),
	NUMBER(hw_ver, 0, UINT32_MAX),
	SIZE(max_mr_size, 4096, RXE_MAX_MR_SIZE),
	SIZE(max_dm_size, 0, 1ull << 40),
	NUMBER(max_qp, 1, RXE_MAX_QP),
	NUMBER(max_qp_wr, 1, RXE_MAX_QP_WR),
	NUMBER(max_sge, 1, RXE_MAX_SGE),
	NUMBER(max_sge_rd, 1, RXE_MAX_SGE),
	NUMBER(max_inline_data, 0, RXE_MAX_INLINE),
	NUMBER(max_cq, 1, RXE_MAX_CQ),
	NUMBER(max_cqe, 1, RXE_MAX_CQE),
	NUMBER(max_mr, 1, RXE_MAX_MR - 1),
	NUMBER(max_mw, 0, RXE_MAX_MW),
	NUMBER(max_pd, 1, RXE_MAX_PD),
	NUMBER(max_ah, 1, RXE_MAX_AH),
	NUMBER(max_srq, 0, RXE_MAX_SRQ),
	NUMBER(max_srq_wr, 1, RXE_MAX_SRQ_WR),
	NUMBER(max_srq_sge, 1, RXE_MAX_SGE),
	NUMBER(max_num_tags, 0, RXE_MAX_TAGS),
	NUMBER(max_qp_rd_atom, 1, RXE_MAX_RD_ATOMIC),
	NUMBER(max_qp_init_rd_atom, 1, RXE_MAX_RD_ATOMIC),
	NUMBER(max_mcast_grp, 0, RXE_MAX_MCAST_GRP),
	NUMBER(max_mcast_qp_attach, 1, RXE_MAX_MCAST_QP),
	NUMBER(max_msg_sz, 4096, RXE_MAX_MSG_SIZE),
	WORD(active_mtu, mtu_words),
	WORD(active_width, width_words),
	WORD(active_speed, speed_words),
	WORD(atomic_cap, atomic_words),
	SWITCH(xrc),
	SWITCH(odp),
	SWITCH(odp_implicit),
	SWITCH(mem_mgt_extensions),
	SWITCH_IF(flush, RXE_PERSISTENCE_SUPPORTED),
	SWITCH(atomic_write),
	SWITCH_IF(raw_packet, RXE_RAW_SUPPORTED),
	SWITCH(path_migration),
	SWITCH(rate_limit),
	SWITCH(cq_moderation),
	SWITCH(completion_timestamp),
	SWITCH(comp_cntr),
};
/* clang-format on */
const size_t ctl_key_count = sizeof(ctl_key_table) / sizeof(ctl_key_table[0]);

static void store(const struct ctl_key *key, uint64_t value, struct ctl_profile *profile)
{
	const uint32_t small = (uint32_t)value;
	char *to = (char *)profile + key->at;

	assert(key->kind != CTL_KEY_TEXT);
	if (key->kind == CTL_KEY_SIZE)
		memcpy(to, &value, sizeof(value));
	else
		memcpy(to, &small, sizeof(small));
}

static uint64_t load(const struct ctl_key *key, const struct ctl_profile *profile)
{
	const char *from = (const char *)profile + key->at;
	uint64_t value;
	uint32_t small;

	assert(key->kind != CTL_KEY_TEXT);
	memcpy(&small, from, sizeof(small));
	if (key->kind != CTL_KEY_SIZE)
		return small;
	memcpy(&value, from, sizeof(value));
	return value;
}

/* All limits are as large as the engine's, and all features on. */
void ctl_profile_init(struct ctl_profile *ret)
{
	memset(ret, 0, sizeof(*ret)); /* with its padding: programs get all bytes */
	memcpy(ret->name, "default", sizeof("default"));
	memcpy(ret->fw_ver, RXE_DM_VERSION, sizeof(RXE_DM_VERSION));
	memcpy(ret->board_id, "rxe_dm", sizeof("rxe_dm"));
	memcpy(ret->hca_type, "rxe_dm", sizeof("rxe_dm"));
	for (size_t i = 0; i < ctl_key_count; i++) {
		const struct ctl_key *key = &ctl_key_table[i];

		if (key->kind == CTL_KEY_NUMBER || key->kind == CTL_KEY_SIZE)
			store(key, key->max, ret);
		else if (key->words == switch_words)
			store(key, key->max, ret);
	}
	ret->vendor_part_id = 1;
	ret->hw_ver = 0;
	ret->atomic_cap = IBV_ATOMIC_HCA;
	ret->active_mtu = 4096;
	/* 40 Gb/s together, which is what loopback carries. */
	ret->active_width = 2;
	ret->active_speed = 8;
}

static const char *word_of(const struct ctl_key_word *words, uint32_t value)
{
	while (words->word && words->value != value)
		words++;
	assert(words->word);
	return words->word;
}

static uint32_t lanes(const struct ctl_profile *profile)
{
	switch (profile->active_width) {
	case 16: return 2;
	case 2: return 4;
	case 4: return 8;
	case 8: return 12;
	default: return 1;
	}
}

uint32_t ctl_profile_speed(const struct ctl_profile *profile)
{
	/* One lane, by bit of active_speed. */
	static const uint32_t lane[] = { 25, 50, 100, 100, 140, 250, 500, 1000 };

	assert(profile->active_speed > 0 && profile->active_speed < 256);
	return lane[__builtin_ctz(profile->active_speed)] * lanes(profile);
}

const char *ctl_profile_rate(const struct ctl_profile *profile, char ret[static CTL_PROFILE_RATE])
{
	const uint32_t speed = ctl_profile_speed(profile);

	snprintf(ret, CTL_PROFILE_RATE, "%u%s Gb/sec (%uX %s)", speed / 10, speed % 10 ? ".5" : "",
		 lanes(profile), word_of(speed_words, profile->active_speed));
	return ret;
}

bool ctl_parse_number(const char *text, int base, bool suffixes, uint64_t min, uint64_t max,
		      uint64_t *ret)
{
	static const char units[] = "KMGT";
	unsigned long long value;
	const char *unit;
	char *end;
	unsigned int shift = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, base);
	unit = *end && suffixes ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
	}
	if (errno || *end || value > max >> shift || value << shift < min)
		return false;
	*ret = value << shift;
	return true;
}

static bool set_number(const struct ctl_key *key, const char *text, struct ctl_profile *profile)
{
	uint64_t value;

	if (!ctl_parse_number(text, 0, key->kind == CTL_KEY_SIZE, key->min, key->max, &value))
		return false;
	store(key, value, profile);
	return true;
}

static bool set_word(const struct ctl_key *key, const char *text, struct ctl_profile *profile)
{
	const struct ctl_key_word *at = key->words;

	while (at->word && strcasecmp(at->word, text) != 0)
		at++;
	if (at->word)
		store(key, key->words == switch_words ? at->value & key->max : at->value, profile);
	return at->word;
}

static bool set_text(const char *value, char *to)
{
	const size_t len = strlen(value);

	if (len == 0 || len >= CTL_PROFILE_TEXT)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isgraph((unsigned char)value[i]))
			return false;
	}
	memset(to, 0, CTL_PROFILE_TEXT);
	memcpy(to, value, len);
	return true;
}

static bool set(const struct ctl_key *key, const char *value, struct ctl_profile *profile)
{
	switch (key->kind) {
	case CTL_KEY_NUMBER:
	case CTL_KEY_SIZE: return set_number(key, value, profile);
	case CTL_KEY_WORD: return set_word(key, value, profile);
	case CTL_KEY_TEXT: return set_text(value, (char *)profile + key->at);
	}
	return false;
}

const char *ctl_key_expects(const struct ctl_key *key, char ret[static CTL_KEY_EXPECTS])
{
	size_t len = 0;

	ret[0] = '\0';
	switch (key->kind) {
	case CTL_KEY_NUMBER:
	case CTL_KEY_SIZE:
		snprintf(ret, CTL_KEY_EXPECTS, "%llu to %llu", (unsigned long long)key->min,
			 (unsigned long long)key->max);
		break;
	case CTL_KEY_WORD:
		for (const struct ctl_key_word *at = key->words; at->word; at++)
			len += (size_t)snprintf(ret + len, CTL_KEY_EXPECTS - len, "%s%s",
						len ? ", " : "", at->word);
		break;
	case CTL_KEY_TEXT:
		snprintf(ret, CTL_KEY_EXPECTS, "1 to %d characters without blanks",
			 CTL_PROFILE_TEXT - 1);
		break;
	}
	return ret;
}

static const struct ctl_key *find_key(const char *name)
{
	for (size_t i = 0; i < ctl_key_count; i++) {
		if (strcmp(ctl_key_table[i].key, name) == 0)
			return &ctl_key_table[i];
	}
	return NULL;
}

/* Cuts blanks off at both ends, in place. */
static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r\n", end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* set_in: by key, the line that set it; 0: none. */
static bool take_line(struct ctl_profile *profile, char *line, uint32_t number, uint32_t *set_in,
		      char why[static CTL_PROFILE_WHY])
{
	char expects[CTL_KEY_EXPECTS];
	const struct ctl_key *key;
	char *name, *value;

	line[strcspn(line, "#")] = '\0';
	name = trim(line);
	if (!*name)
		return true;
	value = strchr(name, '=');
	if (!value) {
		snprintf(why, CTL_PROFILE_WHY, "'%.40s' is no 'key = value'", name);
		return false;
	}
	*value = '\0';
	name = trim(name);
	value = trim(value + 1);
	key = find_key(name);
	if (!key) {
		snprintf(why, CTL_PROFILE_WHY, "there is no key '%.40s': see 'man rxe_dm-profile'",
			 name);
		return false;
	}
	if (set_in[key - ctl_key_table]) {
		snprintf(why, CTL_PROFILE_WHY, "%s is set in line %u already", key->key,
			 set_in[key - ctl_key_table]);
		return false;
	}
	set_in[key - ctl_key_table] = number;
	if (set(key, value, profile))
		return true;
	snprintf(why, CTL_PROFILE_WHY, "%s = %.40s: expected %s", key->key, value,
		 ctl_key_expects(key, expects));
	return false;
}

bool ctl_profile_read(struct ctl_profile *profile, FILE *from, uint32_t *ret_line,
		      char why[static CTL_PROFILE_WHY])
{
	uint32_t set_in[sizeof(ctl_key_table) / sizeof(ctl_key_table[0])] = { 0 };
	char line[256];

	for (*ret_line = 1; fgets(line, sizeof(line), from); (*ret_line)++) {
		if (strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n') {
			snprintf(why, CTL_PROFILE_WHY, "the line is longer than %zu characters",
				 sizeof(line) - 2);
			return false;
		}
		if (!take_line(profile, line, *ret_line, set_in, why))
			return false;
	}
	if (!ferror(from))
		return true;
	snprintf(why, CTL_PROFILE_WHY, "%s", strerror(errno));
	return false;
}

const char *ctl_key_value(const struct ctl_key *key, const struct ctl_profile *profile,
			  char ret[static CTL_PROFILE_TEXT])
{
	switch (key->kind) {
	case CTL_KEY_NUMBER:
	case CTL_KEY_SIZE:
		snprintf(ret, CTL_PROFILE_TEXT, "%llu", (unsigned long long)load(key, profile));
		break;
	case CTL_KEY_WORD:
		snprintf(ret, CTL_PROFILE_TEXT, "%s",
			 word_of(key->words, (uint32_t)load(key, profile)));
		break;
	case CTL_KEY_TEXT:
		snprintf(ret, CTL_PROFILE_TEXT, "%s", (const char *)profile + key->at);
		break;
	}
	return ret;
}
