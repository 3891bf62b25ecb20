/* SPDX-License-Identifier: MIT */
/* The fixture of mistakes: two connected queue pairs in one process, each with all that it needs.
 * A failure that the mistake does not ask for ends the program with status 99. */
#ifndef TESTS_CLIENT_MISTAKES_PAIR_H
#define TESTS_CLIENT_MISTAKES_PAIR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_MEMORY 65536u

/* A function that stacks shall show. */
#ifdef __clang__
#define STACKED __attribute__((noinline))
#else
#define STACKED __attribute__((noinline, noclone))
#endif

struct side_cfg {
	enum ibv_qp_type type; /* 0: RC */
	uint32_t wrs;	       /* of each queue; 0: 16 */
	int cqe;	       /* 0: 64 */
	bool channel, srq;
	bool recv_cq;	   /* receives have a CQ of their own */
	struct ibv_pd *pd; /* the other side owns it; NULL: the side makes one */
	uint64_t send_ops;
	uint64_t wc_flags; /* not 0: the CQ is made by ibv_create_cq_ex() */
	uint32_t inline_data;
	uint8_t timeout, retry_cnt, rnr_retry; /* 0, 0, 0: 14, 7, 6 */
	/* Not those of the other side, if not 0. */
	enum ibv_mtu mtu;
	uint32_t sq_psn, rq_psn;
	uint8_t reads;
	bool elsewhere; /* sends to another address */
};

struct side {
	struct side_cfg cfg;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;	/* sends complete in it */
	struct ibv_cq *recv_cq; /* receives complete in it; NULL: in cq */
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint8_t *memory;
	struct ibv_mr *mr;
	struct ibv_ah *ah;  /* UD, once connected */
	struct side *other; /* once connected */
};

/* Ends the program unless it holds. */
void must(bool holds, const char *what);

struct ibv_context *open_first(void);
/* A side in INIT. context: shared, closed by its owner; NULL: its own. */
void side_open(struct side *side, struct ibv_context *context, const struct side_cfg *cfg);
void side_close(struct side *side);
void side_connect(struct side *side, struct side *other);
void pair_open(struct side *a, struct side *b, const struct side_cfg *cfg);
/* Lets requests that are outstanding end first. */
void pair_close(struct side *a, struct side *b);

struct ibv_sge side_sge(const struct side *side, size_t at, uint32_t len);
/* A request over memory[at, at + len) to the same place of the other side's memory. */
struct ibv_send_wr side_wr(const struct side *side, struct ibv_sge *sge, enum ibv_wr_opcode opcode,
			   uint64_t wr_id);
void side_post(struct side *side, struct ibv_send_wr *wr);
void side_send(struct side *side, uint64_t wr_id, size_t at, uint32_t len);
void side_recv(struct side *side, uint64_t wr_id, size_t at, uint32_t len);
/* The next completion. */
struct ibv_wc side_wait(struct side *side);
struct ibv_wc side_wait_for(struct ibv_cq *cq);
/* The next completion of a side with wc_flags is current; ibv_end_poll() ends the poll. */
void side_start_poll(struct side *side);
void side_modify(struct side *side, enum ibv_qp_state state);

#endif
