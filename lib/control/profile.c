// SPDX-License-Identifier: MIT
/* The table of a profile's keys, and the default profile. */
#include "lib/control/profile.h"

#include <assert.h>
#include <infiniband/verbs.h>
#include <stdio.h>

#include "emu/limits.h"

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
#define SWITCH(member) WORD(member, switch_words)

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
	WORD(atomic_cap, atomic_words),
	WORD(active_mtu, mtu_words),
	WORD(active_width, width_words),
	WORD(active_speed, speed_words),
	SWITCH(xrc),
	SWITCH(odp),
	SWITCH(odp_implicit),
	SWITCH(mem_mgt_extensions),
	SWITCH(flush),
	SWITCH(atomic_write),
	SWITCH(raw_packet),
	SWITCH(path_migration),
	SWITCH(rate_limit),
	SWITCH(cq_moderation),
	SWITCH(completion_timestamp),
	SWITCH(comp_cntr),
};
/* clang-format on */
const size_t ctl_key_count = sizeof(ctl_key_table) / sizeof(ctl_key_table[0]);

void ctl_profile_init(struct ctl_profile *ret)
{
	*ret = (struct ctl_profile){
		.name = "default",
		.fw_ver = RXE_DM_VERSION,
		.board_id = "rxe_dm",
		.hca_type = "rxe_dm",
		.vendor_id = 0xffffff,
		.vendor_part_id = 1,
		.max_mr_size = RXE_MAX_MR_SIZE,
		.max_dm_size = 1ull << 40,
		.max_qp = RXE_MAX_QP,
		.max_qp_wr = RXE_MAX_QP_WR,
		.max_sge = RXE_MAX_SGE,
		.max_sge_rd = RXE_MAX_SGE,
		.max_inline_data = RXE_MAX_INLINE,
		.max_cq = RXE_MAX_CQ,
		.max_cqe = RXE_MAX_CQE,
		.max_mr = RXE_MAX_MR - 1, /* entry 0 of the key table is unused */
		.max_mw = RXE_MAX_MW,
		.max_pd = RXE_MAX_PD,
		.max_ah = RXE_MAX_AH,
		.max_srq = RXE_MAX_SRQ,
		.max_srq_wr = RXE_MAX_SRQ_WR,
		.max_srq_sge = RXE_MAX_SGE,
		.max_num_tags = RXE_MAX_TAGS,
		.max_qp_rd_atom = RXE_MAX_RD_ATOMIC,
		.max_qp_init_rd_atom = RXE_MAX_RD_ATOMIC,
		.max_mcast_grp = RXE_MAX_MCAST_GRP,
		.max_mcast_qp_attach = RXE_MAX_MCAST_QP,
		.max_msg_sz = RXE_MAX_MSG_SIZE,
		.atomic_cap = IBV_ATOMIC_HCA,
		.active_mtu = 4096,
		/* 40 Gb/s together, which is what loopback carries. */
		.active_width = 2,
		.active_speed = 8,
		.xrc = 1,
		.odp = 1,
		.odp_implicit = 1,
		.mem_mgt_extensions = 1,
		.flush = 1,
		.atomic_write = 1,
		.raw_packet = 1,
		.path_migration = 1,
		.rate_limit = 1,
		.cq_moderation = 1,
		.completion_timestamp = 1,
		.comp_cntr = 1,
	};
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
