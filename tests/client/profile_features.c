// SPDX-License-Identifier: MIT
/* Features of a profile: what is off is reported as missing, and refused. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "verbs_profile.h"

static bool is_on(const char *text)
{
	return strcmp(text, "on") == 0;
}

static struct ibv_qp *qp_with_ops(uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = plain_qp();

	init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = ops;
	return ibv_create_qp_ex(test.context, &init);
}

/* By ibv_wr_*(): off means that no queue pair can be created for it. */
static void expect_ops(bool on, uint64_t ops)
{
	struct ibv_qp *qp = qp_with_ops(ops);

	if (!on)
		EXPECT_ERRNO(qp, EOPNOTSUPP);
	EXPECT(!on || (qp && ibv_destroy_qp(qp) == 0));
}

static void atomic_cap(uint64_t number, const char *text)
{
	const bool on = strcmp(text, "none") != 0;
	struct ibv_qp *qp = make_qp();

	(void)number;
	EXPECT(test.all.base.orig_attr.atomic_cap == (!on ? IBV_ATOMIC_NONE
						      : strcmp(text, "hca") == 0
							      ? IBV_ATOMIC_HCA
							      : IBV_ATOMIC_GLOB));
	EXPECT(to_init(qp, IBV_ACCESS_REMOTE_ATOMIC) == (on ? 0 : EOPNOTSUPP));
	ibv_destroy_qp(qp);
	qp = connected(1);
	EXPECT(post(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8) == (on ? 0 : EOPNOTSUPP));
	ibv_destroy_qp(qp);
	expect_ops(on, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
	expect_ops(on, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
}

static void active_mtu(uint64_t number, const char *text)
{
	struct ibv_qp *qp = make_qp();

	(void)text;
	EXPECT(test.port.max_mtu == IBV_MTU_4096);
	EXPECT(128u << test.port.active_mtu == number);
	EXPECT(to_init(qp, 0) == 0);
	if (test.port.active_mtu < IBV_MTU_4096)
		EXPECT(to_rtr(qp, test.port.active_mtu + 1, 1) == EINVAL);
	EXPECT(to_rtr(qp, test.port.active_mtu, 1) == 0);
	ibv_destroy_qp(qp);
}

/* The number of lanes and their name are in sysfs also. */
static void expect_in_rate(const char *part)
{
	char line[64] = "";
	FILE *file = fopen("/sys/class/infiniband/rxe_dm0/ports/1/rate", "r");

	EXPECT(file && fgets(line, sizeof(line), file));
	fclose(file);
	ck_assert_msg(strstr(line, part), "%s: %s", test.key, line);
}

static void active_width(uint64_t number, const char *text)
{
	static const char *const words[] = {
		[1] = "1X", [2] = "4X", [4] = "8X", [8] = "12X", [16] = "2X"
	};
	char part[8];

	(void)number;
	EXPECT(test.port.active_width <= 16 && words[test.port.active_width]);
	ck_assert_str_eq(words[test.port.active_width], text);
	snprintf(part, sizeof(part), "(%s ", text);
	expect_in_rate(part);
}

static void active_speed(uint64_t number, const char *text)
{
	static const char *const words[] = { "SDR", "DDR", "QDR", "FDR10",
					     "FDR", "EDR", "HDR", "NDR" };
	char part[8];

	(void)number;
	EXPECT(test.port.active_speed > 0);
	ck_assert_str_eq(words[__builtin_ctz(test.port.active_speed)], text);
	snprintf(part, sizeof(part), " %s)", text);
	expect_in_rate(part);
}

static void xrc(uint64_t number, const char *text)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_qp_init_attr_ex init = plain_qp();
	struct ibv_xrcd *xrcd = ibv_open_xrcd(test.context, &domain);
	const bool on = is_on(text);
	struct ibv_qp *qp;

	(void)number;
	EXPECT(!(test.all.base.orig_attr.device_cap_flags & IBV_DEVICE_XRC) == !on);
	if (!on)
		EXPECT_ERRNO(xrcd, EOPNOTSUPP);
	EXPECT(!on || (xrcd && ibv_close_xrcd(xrcd) == 0));
	init.qp_type = IBV_QPT_XRC_SEND;
	qp = ibv_create_qp_ex(test.context, &init);
	if (!on)
		EXPECT_ERRNO(qp, EOPNOTSUPP);
	EXPECT(!on || (qp && ibv_destroy_qp(qp) == 0));
}

static void expect_region(bool on, void *addr, size_t len, unsigned int rights)
{
	struct ibv_mr *one =
		ibv_reg_mr(test.pd, addr, len, (unsigned int)IBV_ACCESS_LOCAL_WRITE | rights);

	if (!on)
		EXPECT_ERRNO(one, EOPNOTSUPP);
	EXPECT(!on || (one && ibv_dereg_mr(one) == 0));
}

static void odp(uint64_t number, const char *text)
{
	const struct ibv_odp_caps *caps = &test.all.base.odp_caps;

	(void)number;
	EXPECT(!(caps->general_caps & IBV_ODP_SUPPORT) == !is_on(text));
	EXPECT(!caps->per_transport_caps.rc_odp_caps == !is_on(text));
	expect_region(is_on(text), test.bytes, PROFILE_BYTES, IBV_ACCESS_ON_DEMAND);
}

static void odp_implicit(uint64_t number, const char *text)
{
	const uint64_t caps = test.all.base.odp_caps.general_caps;
	const bool on = is_on(text) && caps & IBV_ODP_SUPPORT;

	(void)number;
	EXPECT(!(caps & IBV_ODP_SUPPORT_IMPLICIT) == !on);
	expect_region(on, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
}

static void mem_mgt_extensions(uint64_t number, const char *text)
{
	const int refused = is_on(text) ? 0 : EOPNOTSUPP;
	struct ibv_qp *qp = connected(1);
	struct ibv_mw *mw;

	(void)number;
	EXPECT(!(test.all.base.orig_attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) ==
	       !is_on(text));
	EXPECT(post(qp, IBV_WR_SEND_WITH_INV, 1, 8) == refused);
	ibv_destroy_qp(qp);
	expect_ops(is_on(text), IBV_QP_EX_WITH_LOCAL_INV);
	mw = test.all.base.orig_attr.max_mw ? ibv_alloc_mw(test.pd, IBV_MW_TYPE_2) : NULL;
	EXPECT(!test.all.base.orig_attr.max_mw || !mw == !is_on(text));
	EXPECT(!mw || ibv_dealloc_mw(mw) == 0);
}

static void flush(uint64_t number, const char *text)
{
	struct ibv_qp *qp = make_qp();

	(void)number;
	EXPECT(!(test.all.base.device_cap_flags_ex & IB_UVERBS_DEVICE_FLUSH_GLOBAL) ==
	       !is_on(text));
	expect_region(is_on(text), test.bytes, PROFILE_BYTES, IBV_ACCESS_FLUSH_GLOBAL);
	expect_ops(is_on(text), IBV_QP_EX_WITH_FLUSH);
	EXPECT(to_init(qp, IBV_ACCESS_FLUSH_GLOBAL) == (is_on(text) ? 0 : EOPNOTSUPP));
	ibv_destroy_qp(qp);
}

static void atomic_write(uint64_t number, const char *text)
{
	struct ibv_qp *qp = connected(1);

	(void)number;
	EXPECT(!(test.all.base.device_cap_flags_ex & IB_UVERBS_DEVICE_ATOMIC_WRITE) ==
	       !is_on(text));
	EXPECT(post(qp, IBV_WR_ATOMIC_WRITE, 1, 8) == (is_on(text) ? 0 : EOPNOTSUPP));
	ibv_destroy_qp(qp);
	expect_ops(is_on(text), IBV_QP_EX_WITH_ATOMIC_WRITE);
}

/* On, an ordinary user gets no raw queue pair either. */
static void raw_packet(uint64_t number, const char *text)
{
	struct ibv_wq_init_attr queue = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = test.pd, .cq = test.cq
	};
	struct ibv_qp_init_attr_ex init = plain_qp();

	(void)number;
	EXPECT(!test.all.base.orig_attr.max_raw_ethy_qp == !is_on(text));
	EXPECT(!test.all.base.rss_caps.supported_qpts == !is_on(text));
	EXPECT(!test.all.base.raw_packet_caps == !is_on(text));
	if (is_on(text))
		return;
	init.qp_type = IBV_QPT_RAW_PACKET;
	EXPECT_ERRNO(ibv_create_qp_ex(test.context, &init), EOPNOTSUPP);
	EXPECT_ERRNO(ibv_create_wq(test.context, &queue), EOPNOTSUPP);
}

static void path_migration(uint64_t number, const char *text)
{
	const struct ibv_qp_attr want = { .path_mig_state = IBV_MIG_MIGRATED };
	struct ibv_qp *qp = connected(1);

	(void)number;
	EXPECT(!(test.all.base.orig_attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) ==
	       !is_on(text));
	if (!is_on(text))
		EXPECT(modify(qp, want, IBV_QP_PATH_MIG_STATE) == EOPNOTSUPP);
	ibv_destroy_qp(qp);
}

static void rate_limit(uint64_t number, const char *text)
{
	struct ibv_qp_rate_limit_attr want = { .rate_limit = 1000000 };
	struct ibv_qp *qp = connected(1);

	(void)number;
	EXPECT(!test.all.base.packet_pacing_caps.qp_rate_limit_max == !is_on(text));
	EXPECT(ibv_modify_qp_rate_limit(qp, &want) == (is_on(text) ? 0 : EOPNOTSUPP));
	ibv_destroy_qp(qp);
}

static void cq_moderation(uint64_t number, const char *text)
{
	struct ibv_modify_cq_attr want = { .attr_mask = IBV_CQ_ATTR_MODERATE };

	(void)number;
	EXPECT(!test.all.base.cq_mod_caps.max_cq_count == !is_on(text));
	EXPECT(ibv_modify_cq(test.cq, &want) == (is_on(text) ? 0 : EOPNOTSUPP));
}

static void completion_timestamp(uint64_t number, const char *text)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 1,
					    .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_cq_ex *one = ibv_create_cq_ex(test.context, &init);
	const bool on = is_on(text);

	(void)number;
	if (!on)
		EXPECT_ERRNO(one, EOPNOTSUPP);
	EXPECT(!on || (one && ibv_destroy_cq(ibv_cq_ex_to_cq(one)) == 0));
	EXPECT(!test.all.base.completion_timestamp_mask == !on);
	EXPECT(!test.all.base.hca_core_clock == !on);
	EXPECT(ibv_query_rt_values_ex(test.context, &values) == (on ? 0 : EOPNOTSUPP));
}

static void comp_cntr(uint64_t number, const char *text)
{
	struct ibv_comp_cntr_init_attr init = { 0 };
	struct ibv_comp_cntr *one = ibv_create_comp_cntr(test.context, &init);
	struct ibv_comp_cntr_caps caps;

	(void)number;
	if (!is_on(text))
		EXPECT_ERRNO(one, EOPNOTSUPP);
	EXPECT(!is_on(text) || (one && ibv_destroy_comp_cntr(one) == 0));
	EXPECT(_ibv_query_comp_cntr_caps(test.context, &caps, sizeof(caps)) ==
	       (is_on(text) ? 0 : EOPNOTSUPP));
}

const struct profile_row profile_features[] = {
	PROFILE_ROW(atomic_cap),
	PROFILE_ROW(active_mtu),
	PROFILE_ROW(active_width),
	PROFILE_ROW(active_speed),
	PROFILE_ROW(xrc),
	PROFILE_ROW(odp),
	PROFILE_ROW(odp_implicit),
	PROFILE_ROW(mem_mgt_extensions),
	PROFILE_ROW(flush),
	PROFILE_ROW(atomic_write),
	PROFILE_ROW(raw_packet),
	PROFILE_ROW(path_migration),
	PROFILE_ROW(rate_limit),
	PROFILE_ROW(cq_moderation),
	PROFILE_ROW(completion_timestamp),
	PROFILE_ROW(comp_cntr),
};
const size_t num_profile_features = sizeof(profile_features) / sizeof(profile_features[0]);
