/* SPDX-License-Identifier: MIT */
/* The profile of an instance: limits, names and features of its devices, as the verbs and sysfs
 * report them and as they are enforced. The default is all that the engine does (emu/limits.h); a
 * file can ask for less. The server reads the file, and hands the profile to its clients in struct
 * ctl_device. */
#ifndef RXE_CONTROL_PROFILE_H
#define RXE_CONTROL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CTL_PROFILE_NAME 32
#define CTL_PROFILE_TEXT 24
#define CTL_PROFILE_WHY	 192

/* What every device and port of ours is. */
#define CTL_PHYS_UP   5
#define CTL_PHYS_DOWN 3
#define CTL_PKEY      0xffff

/* Members are the keys of the file, with the same names; in its table their meanings. */
struct ctl_profile {
	char name[CTL_PROFILE_NAME]; /* what chose it: "default", or the last part of a path */
	char fw_ver[CTL_PROFILE_TEXT], board_id[CTL_PROFILE_TEXT], hca_type[CTL_PROFILE_TEXT];
	uint64_t max_mr_size, max_dm_size; /* bytes */
	uint32_t vendor_id, vendor_part_id, hw_ver;
	uint32_t max_qp, max_qp_wr, max_sge, max_sge_rd, max_inline_data;
	uint32_t max_cq, max_cqe, max_mr, max_mw, max_pd, max_ah;
	uint32_t max_srq, max_srq_wr, max_srq_sge, max_num_tags;
	uint32_t max_qp_rd_atom, max_qp_init_rd_atom;
	uint32_t max_mcast_grp, max_mcast_qp_attach;
	uint32_t max_msg_sz;
	uint32_t atomic_cap;   /* enum ibv_atomic_cap; 0: none */
	uint32_t active_mtu;   /* bytes; the link may allow less */
	uint32_t active_width; /* as ibv_port_attr has it */
	uint32_t active_speed; /* as ibv_port_attr has it */
	/* Features, 0 or 1. */
	uint32_t xrc, odp, odp_implicit, mem_mgt_extensions, flush, atomic_write, raw_packet;
	uint32_t path_migration, rate_limit, cq_moderation, completion_timestamp, comp_cntr;
};

enum ctl_key_kind {
	CTL_KEY_NUMBER, /* uint32_t */
	CTL_KEY_SIZE,	/* uint64_t, in bytes; the file may write K, M, G or T after it */
	CTL_KEY_WORD,	/* uint32_t, one of words */
	CTL_KEY_TEXT,	/* char[CTL_PROFILE_TEXT] */
};

struct ctl_key_word {
	const char *word; /* NULL ends a list */
	uint32_t value;
};

struct ctl_key {
	const char *key;
	enum ctl_key_kind kind;
	size_t at; /* in struct ctl_profile */
	uint64_t min, max;
	const struct ctl_key_word *words;
};

extern const struct ctl_key ctl_key_table[];
extern const size_t ctl_key_count;

/* The value as a file has it. */
const char *ctl_key_value(const struct ctl_key *key, const struct ctl_profile *profile,
			  char ret[static CTL_PROFILE_TEXT]);
/* What a value of the key must be: "1 to 4096", or the words. */
#define CTL_KEY_EXPECTS 96
const char *ctl_key_expects(const struct ctl_key *key, char ret[static CTL_KEY_EXPECTS]);

/* Parses a whole text as a number from min to max. suffixes: K, M, G or T may follow it. */
bool ctl_parse_number(const char *text, int base, bool suffixes, uint64_t min, uint64_t max,
		      uint64_t *ret);

void ctl_profile_init(struct ctl_profile *ret);
/* Reads lines "key = value", with comments from '#' on. False: *ret_line and why say where and what
 * is wrong. */
bool ctl_profile_read(struct ctl_profile *profile, FILE *from, uint32_t *ret_line,
		      char why[static CTL_PROFILE_WHY]);
/* Speed of the port in units of 100 Mb/s, and as Linux's sysfs writes it: "40 Gb/sec (4X
 * FDR10)". */
uint32_t ctl_profile_speed(const struct ctl_profile *profile);
#define CTL_PROFILE_RATE 48
const char *ctl_profile_rate(const struct ctl_profile *profile, char ret[static CTL_PROFILE_RATE]);

#endif
