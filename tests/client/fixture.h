/* SPDX-License-Identifier: MIT */
/* The fixture of tests of the public verbs: an end is a queue pair with all that it needs, and two
 * ends talk. Whatever goes wrong that the test did not ask for fails the test. Nothing here waits
 * by the clock: the runner's time limit ends what hangs. */
#ifndef TESTS_CLIENT_FIXTURE_H
#define TESTS_CLIENT_FIXTURE_H

#include <check.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIXTURE_MEMORY (4u << 20)
#define FIXTURE_PSN    0xfffff0u /* wraps soon */
#define FIXTURE_QKEY   0x11111111u
#define FIXTURE_ALL_RIGHTS                                                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct end_cfg {
	enum ibv_qp_type type;	/* 0: RC */
	uint32_t wrs;		/* each queue, 0: 64 */
	uint32_t sges;		/* 0: 4 */
	int cqe;		/* 0: 256 */
	uint64_t send_ops;	/* for ibv_wr_*: IBV_QP_EX_WITH_* */
	uint32_t remote_rights; /* of the QP; 0: all */
	uint8_t timeout;	/* 0: 18, which is 1 s, and 8 s in all */
	uint8_t rnr_retry;	/* as ibv_qp_attr has it; 7 when no_retry is not set */
	bool no_retry;		/* retry_cnt and rnr_retry are 0 */
	bool channel;
	bool srq;
	enum ibv_mtu mtu;  /* 0: the port's */
	struct ibv_pd *pd; /* NULL: its own */
	struct ibv_cq *cq; /* NULL: its own */
	/* Made by ibv_create_cq_ex() with this; NULL: by ibv_create_cq(). */
	const struct ibv_cq_init_attr_ex *cq_attr;
};

/* What the other end must know. */
struct end_address {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t addr;
	union ibv_gid gid;
};

struct end {
	struct end_cfg cfg;
	struct ibv_context *context;
	bool owns_context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of both queues */
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint8_t *memory;
	struct ibv_mr *mr;
	struct ibv_ah *ah; /* UD, once connected */
	struct end_address peer;
};

struct ibv_context *fixture_open(void);

/* An end in INIT (UD: RTS); context NULL: opens its own. */
void end_open(struct end *end, struct ibv_context *context, const struct end_cfg *cfg);
void end_close(struct end *end);
struct end_address end_address(const struct end *end);
/* RTR and RTS towards the peer. */
void end_connect(struct end *end, const struct end_address *peer);
/* Two connected ends in one process, on one context. */
void ends_open(struct end *a, struct end *b, const struct end_cfg *cfg);
void ends_close(struct end *a, struct end *b);

/* A signalled request over memory[at, at + len) to the same place of the peer's memory. */
struct ibv_send_wr end_wr(const struct end *end, struct ibv_sge *sge, enum ibv_wr_opcode opcode,
			  uint64_t wr_id, size_t at, uint32_t len);
void end_post(struct end *end, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t at, uint32_t len);
void end_recv(struct end *end, uint64_t wr_id, size_t at, uint32_t len);
/* The next completion. */
struct ibv_wc end_wait(struct end *end);
struct ibv_wc end_wait_for(struct end *end, uint64_t wr_id, enum ibv_wc_status status);
void end_expect_nothing(struct end *end);
enum ibv_qp_state end_state(struct end *end);
/* The next asynchronous event, acknowledged; it must be this one. */
void expect_event(struct ibv_context *context, enum ibv_event_type type);

/* How many descriptors this process has. */
int count_descriptors(void);

/* A pattern that shows number and place. */
void fill(uint8_t *bytes, size_t len, uint32_t number);
void expect_filled(const uint8_t *bytes, size_t len, uint32_t number);
void expect_zero(const uint8_t *bytes, size_t len);

/* Run the other side in a process of its own; both have an end of a socket. Call before any
 * verb. */
int beside(void (*other)(int sock), pid_t *ret_pid);
void meet(int sock);
/* A descriptor for the other process; one from it. */
void give_fd(int sock, int fd);
int take_fd(int sock);
/* The same where the other process may have gone: false, -1. */
bool send_fd(int sock, int fd);
int receive_fd(int sock);
struct end_address swap_addresses(int sock, const struct end *end);
/* It ended well. */
void join(pid_t pid, int sock);

/* main(): run the tests of one case. */
int fixture_main(const char *name, void (*add)(TCase *tests));

#endif
