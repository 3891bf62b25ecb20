/* SPDX-License-Identifier: MIT */
/* What the checks of a profile's keys share (verbs_profile.c). */
#ifndef TESTS_CLIENT_VERBS_PROFILE_H
#define TESTS_CLIENT_VERBS_PROFILE_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "fixture.h"
#include "lib/abi/newer.h"

/* verbs.h's inline functions follow what they look up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

#define PROFILE_BYTES 4096u

/* The device, what it reports, and one object of each kind. */
struct profile_test {
	struct ibv_context *context;
	struct ibv_device_attr_ex_65 all;
	struct ibv_port_attr port;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t bytes[PROFILE_BYTES];
	const char *key; /* that is being checked */
};
extern struct profile_test test;

#define EXPECT(condition) ck_assert_msg(condition, "%s: %s, errno %d", test.key, #condition, errno)
#define EXPECT_ERRNO(made, expected)                                                               \
	ck_assert_msg(!(made) && errno == (expected), "%s: errno %d", test.key, errno)

/* number: the value, if it is one; text: as the file has it. */
struct profile_row {
	const char *key;
	void (*check)(uint64_t number, const char *text);
};
#define PROFILE_ROW(name)                                                                          \
	{                                                                                          \
#name, name                                                                        \
	}

extern const struct profile_row profile_limits[], profile_features[];
extern const size_t num_profile_limits, num_profile_features;

struct ibv_qp_init_attr_ex plain_qp(void);
void *make_qp(void);
int modify(struct ibv_qp *qp, struct ibv_qp_attr want, int mask);
int to_init(struct ibv_qp *qp, unsigned int rights);
int to_rtr(struct ibv_qp *qp, enum ibv_mtu mtu, uint8_t reads);
int to_rts(struct ibv_qp *qp, uint8_t reads);
/* Connected to itself. */
struct ibv_qp *connected(uint32_t sges);
/* Posts one request of num_sge elements of len bytes each. */
int post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, int num_sge, uint32_t len);

#endif
