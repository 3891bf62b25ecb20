/* SPDX-License-Identifier: MIT */
/* The fixture of engine tests: two engines whose trains become the other's arrivals, memory to
 * inspect, and reported events. Time is a number. */
#ifndef RXE_TEST_EMU_FIXTURE_H
#define RXE_TEST_EMU_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/srq.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"
#include "tests/qp_required.h"

#define FIXTURE_PD	  7u
#define FIXTURE_MEM	  (1u << 20)
#define FIXTURE_CQE	  64u
#define FIXTURE_WR	  16u
#define FIXTURE_SGE	  4u
#define FIXTURE_INLINE	  128u
#define FIXTURE_MAX_EVENT 32u

/* Keys of the regions of every end. Each region is the whole memory, at iova FIXTURE_IOVA. */
#define FIXTURE_IOVA 0x100000000ull
#define KEY_ALL	     (1u << 16 | 0x11) /* every right */
#define KEY_READ     (2u << 16 | 0x22) /* local read only */
#define KEY_OTHER    (3u << 16 | 0x33) /* every right, another PD */
#define KEY_UNMAPPED (4u << 16 | 0x44) /* every right, memory unmapped */

struct end {
	struct rxe_engine engine;
	struct rxe_counters counters;
	struct rxe_mr_table *mrs;
	uint8_t *mem;
	struct rxe_event event[FIXTURE_MAX_EVENT];
	uint32_t num_events;
	struct rxe_cq *notified[FIXTURE_MAX_EVENT];
	uint32_t num_notified;
};

struct qp_set {
	struct rxe_qp qp;
	struct rxe_cq send_cq, recv_cq;
	uint8_t *memory[4];
};

struct gid fixture_gid(uint8_t host);
struct end *end_new(uint8_t host, uint32_t slot);
void end_free(struct end *end);

/* Both CQs have cqe entries. */
void qp_new(struct end *end, struct qp_set *ret, enum rxe_qp_type type, struct rxe_srq *srq,
	    uint32_t cqe);
void qp_free(struct end *end, struct qp_set *set);
/* Valid values of all attributes, with host and qpn as the peer. */
struct rxe_qp_attr good_attr(uint8_t host, uint32_t qpn);
void qp_to(struct end *end, struct qp_set *set, enum rxe_qp_state to, uint8_t host, uint32_t qpn);

struct rxe_sge sge_at(uint32_t offset, uint32_t len, uint32_t key);
enum post_result post_recv(struct end *end, struct qp_set *set, uint64_t wr_id, struct rxe_sge sge);
/* A signalled SEND of one SGE; the caller may change it before posting. */
struct rxe_send_wr send_wr(uint64_t wr_id, const struct rxe_sge *sge);
/* Whether no completion is visible. */
static inline bool cq_is_empty(struct rxe_cq *cq)
{
	return atomic_load(&cq->visible) == atomic_load(&cq->head);
}
/* One completion, or status UINT32_MAX. */
struct rxe_cqe poll_one(struct rxe_cq *cq);

/* Packets to drop, by number since the last fixture_run(): bit i. */
extern uint64_t fixture_drop;
/* Opcodes of the packets sent since the last fixture_run(). */
extern uint8_t fixture_opcode[4096];
extern uint32_t fixture_packets, fixture_trains;
/* Carries trains both ways until both engines are idle, then settles both. */
void fixture_run(struct end *a, struct end *b);
/* Delivers a packet: writes headers, payload and ICRC. */
void inject(struct end *to, struct wire_packet *packet, const void *payload, const struct gid *src,
	    const struct gid *dst);

#endif
