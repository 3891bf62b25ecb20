/* SPDX-License-Identifier: MIT */
/* Scripts: each step is a byte with its operands after it. Packets are made relative to the state
 * of the queue pair, with the right ICRC unless the script says otherwise: a fuzzer would hardly
 * guess these. */
#include "tests/fuzz/script.h"

#include "net/wire/opcode.h"
#include "net/wire/packet.h"

enum forge_flag {
	FORGE_QP = 3, /* selects the QP; XRC: 0 and 1 select the one that the packet is for */
	FORGE_SOLICITED = 1 << 2,
	FORGE_ACK_REQ = 1 << 3,
	FORGE_STRANGER = 1 << 4, /* from another address */
	FORGE_BAD_ICRC = 1 << 5,
	FORGE_PSN = 1 << 6, /* any PSN: three bytes */
	FORGE_BAD_PKEY = 1 << 7,
};

enum bytes_flag {
	BYTES_QP = 3,
	BYTES_KEEP_QPN = 1 << 2,
	BYTES_KEEP_PSN = 1 << 3,
	BYTES_KEEP_ICRC = 1 << 4,
	BYTES_KEEP_KEY = 1 << 5,
	BYTES_GROUP = 1 << 6, /* to the multicast group */
};

/* Two bits select one of the first four QPs; the packet selects those of XRC. */
static struct host_qp *qp_for(struct host *host, uint8_t flags, uint8_t opcode)
{
	if (opcode_service(opcode) != WIRE_XRC || flags & 2)
		return &host->qp[flags & 3];
	return &host->qp[wire_shape(opcode) & SHAPE_REQUEST ? QP_XRC_RECV : QP_XRC_SEND];
}

/* A byte selects any QP. */
static enum host_qp_name name_of(uint8_t byte, bool is_xrc)
{
	if (is_xrc)
		return byte & 1 ? QP_XRC_SEND : QP_XRC_RECV;
	return (enum host_qp_name)(byte & 3);
}

static void arrive(struct host *host, uint8_t *p, size_t len, bool stranger, bool bad_icrc,
		   bool bad_pkey, const struct host_qp *q)
{
	struct gid src = host->peer;
	struct icrc_flow flow = { .dst = host->to_group ? host->group : host->self,
				  .src_port = HOST_PORT };
	bool is_good = !bad_pkey && (!stranger || q->qp.type == RXE_QPT_UD);
	uint8_t *exact;

	if (stranger)
		src.raw[15] = 77;
	flow.src = src;
	if (len >= BTH_LEN + ICRC_LEN && !bad_icrc)
		icrc_store(p + len - ICRC_LEN, icrc_compute(&flow, 0, p, len - ICRC_LEN));
	if (bad_icrc)
		is_good &= len >= BTH_LEN + ICRC_LEN &&
			   icrc_check(&flow, host->id_rule, 0, p, len) != ICRC_BAD;
	exact = exact_block(p, len);
	host_input(host, exact, (uint32_t)len, &src, is_good);
	free(exact);
}

/* PSNs as the queue pair expects them: requests from the next one, responses from the oldest
 * unacknowledged request. */
static uint32_t base_psn(const struct host_qp *q, uint32_t shape)
{
	return shape & SHAPE_REQUEST || !rxe_qp_is_reliable(&q->qp) ? q->qp.attr.rq_psn
								    : q->qp.rc.req.una_psn;
}

static enum host_region take_region(struct take *take)
{
	return (enum host_region)(take_u8(take) % HOST_REGIONS);
}

static void take_place(struct take *take, uint64_t *ret_va, uint32_t *ret_key)
{
	const enum host_region region = take_region(take);

	*ret_key = host_key(region);
	*ret_va = host_iova(region) + (uint64_t)(int64_t)(int16_t)take_u16(take);
}

static uint32_t take_len(struct take *take, uint32_t mtu)
{
	const uint16_t len = take_u16(take);

	switch (len) {
	case 0xffff: return take_u32(take);
	case 0xfffe: return mtu;
	case 0xfffd: return mtu + 1;
	}
	return len;
}

static void take_headers(const struct host *host, struct take *take, struct wire_packet *packet,
			 uint32_t mtu)
{
	const uint32_t shape = wire_shape(packet->bth.opcode);

	if (shape & SHAPE_XRCETH) {
		const uint8_t which = take_u8(take);

		packet->xrc_srqn = which % 8 ? host->xsrq.srqn : which;
	}
	if (shape & SHAPE_DETH) {
		packet->deth.qkey = take_u8(take) % 8 ? 0x11223344 : 5;
		packet->deth.src_qpn = 0x20103;
	}
	if (shape & SHAPE_FETH) {
		const uint8_t bits = take_u8(take);

		packet->feth = (struct feth){ bits & 0xf, bits >> 4 & 3 };
	}
	if (shape & SHAPE_RETH) {
		take_place(take, &packet->reth.va, &packet->reth.rkey);
		packet->reth.len = take_len(take, mtu);
	}
	if (shape & SHAPE_ATOMIC_ETH) {
		take_place(take, &packet->atomic.va, &packet->atomic.rkey);
		packet->atomic.swap_add = take_u16(take);
		packet->atomic.compare = take_u16(take);
	}
	if (shape & SHAPE_AETH) {
		packet->aeth.syndrome = take_u8(take);
		packet->aeth.msn = take_u8(take);
	}
	if (shape & SHAPE_ATOMIC_ACK_ETH)
		packet->atomic_orig = take_u32(take);
	if (shape & SHAPE_IMM)
		packet->imm = take_u8(take);
	if (shape & SHAPE_IETH)
		packet->inv_rkey = host_key(take_region(take));
}

static void step_forged(struct host *host, struct take *take)
{
	const uint8_t flags = take_u8(take);
	const uint8_t opcode = take_u8(take);
	const struct host_qp *q = qp_for(host, flags & FORGE_QP, opcode);
	const uint32_t mtu = q->qp.attr.path_mtu ? q->qp.attr.path_mtu : 4096;
	struct wire_packet packet = { .bth = { .opcode = opcode,
					       .solicited = flags & FORGE_SOLICITED,
					       .mig_req = true,
					       .pkey = flags & FORGE_BAD_PKEY ? 0x1234 : 0xffff,
					       .dest_qpn = q->qp.qpn,
					       .ack_req = flags & FORGE_ACK_REQ } };
	const uint32_t shape = wire_shape(packet.bth.opcode);
	uint8_t p[WIRE_MAX_PACKET + 64] = { 0 };
	uint32_t payload = 0;
	size_t len;

	if (!shape)
		return;
	if (flags & FORGE_PSN)
		packet.bth.psn = (uint32_t)take_bytes(take, 3);
	else
		packet.bth.psn = psn_add(base_psn(q, shape), (uint32_t)(int8_t)take_u8(take));
	take_headers(host, take, &packet, mtu);
	if (shape & SHAPE_PAYLOAD)
		payload = take_len(take, mtu) % (WIRE_MAX_PAYLOAD + 8);
	packet.bth.pad = (uint8_t)(-payload & 3);
	len = wire_emit_headers(p, &packet);
	memset(p + len, 0xa5, payload);
	len += payload + packet.bth.pad + ICRC_LEN;
	arrive(host, p, len, flags & FORGE_STRANGER, flags & FORGE_BAD_ICRC, flags & FORGE_BAD_PKEY,
	       q);
}

/* The key of the region at that place, or of the queue pair. */
static void put_good_key(const struct host *host, uint8_t *p, size_t len, uint32_t shape)
{
	const size_t at = BTH_LEN + (shape & SHAPE_XRCETH ? XRCETH_LEN : 0);

	if (shape & SHAPE_XRCETH && len >= at)
		put_be24(p + BTH_LEN + 1, host->xsrq.srqn);
	if (shape & (SHAPE_RETH | SHAPE_ATOMIC_ETH) && len >= at + RETH_LEN) {
		put_be64(p + at, host_iova(REGION_REMOTE));
		put_be32(p + at + 8, host_key(REGION_REMOTE));
	}
	if (shape & SHAPE_DETH && len >= BTH_LEN + DETH_LEN)
		put_be32(p + BTH_LEN, 0x11223344);
}

/* Bytes of a packet, as many as the script has. */
static void step_bytes(struct host *host, struct take *take)
{
	const uint8_t flags = take_u8(take);
	const struct host_qp *q;
	const int8_t delta = (int8_t)take_u8(take);
	size_t len = take_u16(take) % (WIRE_MAX_PACKET + 64);
	uint8_t p[WIRE_MAX_PACKET + 64];
	bool bad_pkey = false;
	uint32_t shape;

	if (len > take->left)
		len = take->left;
	memcpy(p, take->p, len);
	take->p += len;
	take->left -= len;
	q = qp_for(host, flags & BYTES_QP, len ? p[0] : 0);
	if (len >= BTH_LEN) {
		shape = wire_shape(p[0]);
		if (!(flags & BYTES_KEEP_QPN))
			put_be24(p + 5, q->qp.qpn);
		if (!(flags & BYTES_KEEP_PSN))
			put_be24(p + 9, psn_add(base_psn(q, shape), (uint32_t)delta));
		if (!(flags & BYTES_KEEP_KEY))
			put_good_key(host, p, len, shape);
		bad_pkey = (get_be16(p + 2) & 0x7fff) != 0x7fff;
		if (flags & BYTES_GROUP)
			put_be24(p + 5, QPN_MASK);
	}
	host->to_group = flags & BYTES_GROUP;
	arrive(host, p, len, false, flags & BYTES_KEEP_ICRC, bad_pkey, q);
	host->to_group = false;
}

static enum rxe_wr_opcode opcode_of(uint8_t byte)
{
	static const enum rxe_wr_opcode opcodes[] = {
		RXE_WR_RDMA_WRITE,	     RXE_WR_RDMA_WRITE_WITH_IMM, RXE_WR_SEND,
		RXE_WR_SEND_WITH_IMM,	     RXE_WR_RDMA_READ,		 RXE_WR_ATOMIC_CMP_AND_SWP,
		RXE_WR_ATOMIC_FETCH_AND_ADD, RXE_WR_SEND_WITH_INV,
	};

	switch (byte >> 5) {
	case 1: return RXE_WR_FLUSH;
	case 2: return RXE_WR_ATOMIC_WRITE;
	case 3: return RXE_WR_BIND_MW;
	case 4: return RXE_WR_LOCAL_INV;
	}
	return opcodes[byte & 7];
}

static void step_send(struct host *host, struct take *take)
{
	const uint8_t name = take_u8(take), op = take_u8(take);
	struct rxe_send_wr wr = { .opcode = opcode_of(op),
				  .flags = op & 8 ? 0 : RXE_SEND_SIGNALED,
				  .imm_or_rkey = 7,
				  .remote_addr = 0x1000,
				  .rkey = 0x12345678,
				  .compare_add = 1,
				  .swap = 2,
				  .feth = { FETH_GLOBAL | FETH_PERSISTENT, op & 1 },
				  .remote_qkey = 0x11223344 };
	const uint32_t len = take_len(take, 1024);

	if (op & 16)
		wr.flags |= RXE_SEND_FENCE;
	host_send(host, name_of(name, name & 4), &wr, len);
}

static void step_recv(struct host *host, struct take *take)
{
	const uint8_t name = take_u8(take);
	const uint16_t len = take_u16(take);

	host_recv(host, name_of(name, name & 4), len, name >> 4);
}

static void step_modify(struct host *host, const struct host_setup *setup, struct take *take)
{
	static const enum rxe_qp_state states[] = { RXE_QPS_ERR,   RXE_QPS_SQD,	 RXE_QPS_RTS,
						    RXE_QPS_RESET, RXE_QPS_INIT, RXE_QPS_RTR };
	const uint8_t byte = take_u8(take);

	host_modify(host, name_of(byte, byte & 0x80), states[(byte & 0x7f) / 4 % 6], setup);
}

static void step_revoke(struct host *host, struct take *take)
{
	const uint8_t byte = take_u8(take);
	const enum host_region region = (enum host_region)(byte % 16);

	if (region != REGION_NONE && region < HOST_REGIONS && region != REGION_DEAD)
		host_revoke(host, region, byte & 16);
}

static void step_arm(struct host *host, struct take *take)
{
	const uint8_t byte = take_u8(take);

	(void)rxe_srq_arm(&host->engine, byte & 2 ? &host->xsrq : &host->srq, byte >> 4);
	(void)rxe_cq_arm(&host->cq, byte & 1 ? RXE_CQ_ARM_SOLICITED : RXE_CQ_ARM_ANY);
}

/* One is destroyed, or created again; or seconds pass, so that what is remembered is forgotten. */
static void step_destroy(struct host *host, const struct host_setup *setup, struct take *take)
{
	const uint8_t byte = take_u8(take);

	if (byte & 8)
		host_advance(host, (byte >> 4) * 4000000000ull);
	else
		host_destroy_or_create(host, (enum host_qp_name)((byte & 7) % HOST_QPS), setup);
}

void script_run(struct host *host, const struct host_setup *setup, struct take *take, bool sends)
{
	for (uint32_t i = 0; i < SCRIPT_MAX_STEPS && take->left > 0; i++) {
		switch ((enum script_step)(take_u8(take) % SCRIPT_STEPS)) {
		case STEP_FORGED: step_forged(host, take); break;
		case STEP_BYTES: step_bytes(host, take); break;
		case STEP_RECV: step_recv(host, take); break;
		case STEP_SEND:
			if (sends)
				step_send(host, take);
			break;
		case STEP_TIME: host_advance(host, take_u16(take) * 1000ull); break;
		case STEP_OUTPUT: host_output(host); break;
		case STEP_MODIFY: step_modify(host, setup, take); break;
		case STEP_REVOKE: step_revoke(host, take); break;
		case STEP_ARM: step_arm(host, take); break;
		case STEP_DESTROY: step_destroy(host, setup, take); break;
		case STEP_DEFER: host->is_deferred = take_u8(take) & 1; break;
		case STEP_SPOIL: host_time_wait_spoil(host, take); break;
		case SCRIPT_STEPS: break;
		}
	}
	host_output(host);
}
