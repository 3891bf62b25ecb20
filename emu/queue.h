/* SPDX-License-Identifier: MIT */
/* Work queues: rings of posted work requests. Memory is the caller's, sized at creation. */
#ifndef RXE_EMU_QUEUE_H
#define RXE_EMU_QUEUE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/mr.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"

/* Layout of struct ibv_sge. */
struct rxe_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};
static_assert(sizeof(struct rxe_sge) == 16, "struct ibv_sge");

/* Values of enum ibv_wr_opcode. */
enum rxe_wr_opcode {
	RXE_WR_RDMA_WRITE = 0,
	RXE_WR_RDMA_WRITE_WITH_IMM = 1,
	RXE_WR_SEND = 2,
	RXE_WR_SEND_WITH_IMM = 3,
	RXE_WR_RDMA_READ = 4,
	RXE_WR_ATOMIC_CMP_AND_SWP = 5,
	RXE_WR_ATOMIC_FETCH_AND_ADD = 6,
	RXE_WR_LOCAL_INV = 7,
	RXE_WR_BIND_MW = 8,
	RXE_WR_SEND_WITH_INV = 9,
	RXE_WR_FLUSH = 14,
	RXE_WR_ATOMIC_WRITE = 15,
};
#define RXE_WR_OPCODES (RXE_WR_ATOMIC_WRITE + 1)

/* Values of enum ibv_send_flags. */
enum rxe_send_flag {
	RXE_SEND_FENCE = 1 << 0,
	RXE_SEND_SIGNALED = 1 << 1,
	RXE_SEND_SOLICITED = 1 << 2,
	RXE_SEND_INLINE = 1 << 3,
	RXE_SEND_IP_CSUM = 1 << 4, /* raw: fill in the checksums */
};

/* Address of a datagram or connection: an address handle, copied when it is used. */
struct rxe_av {
	struct gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
};

/* A send work request from a driver. SGEs are copied; with RXE_SEND_INLINE, the bytes they point
 * to. */
struct rxe_send_wr {
	uint64_t wr_id;
	enum rxe_wr_opcode opcode;
	uint32_t flags;
	uint32_t imm_or_rkey; /* host order; LOCAL_INV: the key to invalidate */
	struct rxe_bind bind; /* BIND_MW */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add;
	uint64_t swap;
	struct feth feth;	 /* FLUSH */
	uint32_t flush_len;	 /* FLUSH: bytes from remote_addr on */
	const struct rxe_av *av; /* UD */
	uint32_t remote_qpn;	 /* XRC: the SRQ's number */
	uint32_t remote_qkey;
	uint32_t num_sge;
	const struct rxe_sge *sges;
};

struct rxe_recv_wr {
	uint64_t wr_id;
	uint32_t num_sge;
	const struct rxe_sge *sges;
};

enum post_result {
	POST_OK,
	POST_BAD_STATE,	 /* RESET (send: also INIT, RTR) */
	POST_FULL,	 /* the ring is full: ENOMEM */
	POST_BAD_OPCODE, /* not for this QP type, or unknown */
	POST_REFUSED,	 /* the device does not offer the operation: EOPNOTSUPP */
	/* Too many SGEs, inline too long, atomic or ATOMIC WRITE not 8 bytes, FLUSH not 0 bytes,
	 * message or flushed range too long, or a frame without Ethernet header. */
	POST_BAD_SGE,
	/* Inline with a READ, atomic or FLUSH, unknown bits, or an undefined placement type or
	 * selectivity level. */
	POST_BAD_FLAGS,
	/* UD without an address, or XRC with an SRQ number of more than 24 bits. */
	POST_BAD_AV,
	POST_HAS_SRQ, /* a receive to a QP with an SRQ */
	POST_NO_RECV, /* a receive to an XRC or RSS QP */
	/* For the host: a bind of what is no window, or no region. */
	POST_BAD_BIND,
};

enum rxe_wqe_progress {
	RXE_WQE_POSTED,
	RXE_WQE_STARTED, /* PSNs are assigned; a local operation waits */
	RXE_WQE_DONE,	 /* a local operation was executed */
};

/* A send in the ring, followed by num_sge SGEs, the inline bytes, or a bind. psn_first and psn_last
 * are assigned when its first packet is sent. */
struct rxe_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add;
	uint64_t swap;
	struct rxe_av av;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint32_t rkey;
	uint32_t imm_or_rkey;
	uint32_t len; /* message bytes */
	uint32_t psn_first;
	uint32_t psn_last;
	uint32_t flags;
	uint32_t flush_len;
	struct feth feth;
	uint16_t opcode; /* enum rxe_wr_opcode */
	uint8_t num_sge;
	uint8_t started; /* enum rxe_wqe_progress */
	_Alignas(8) uint8_t tail[];
};

/* Local operations send no packet. */
static inline bool rxe_wqe_is_local(const struct rxe_send_wqe *wqe)
{
	return wqe->opcode == RXE_WR_BIND_MW || wqe->opcode == RXE_WR_LOCAL_INV;
}

static inline const struct rxe_bind *rxe_wqe_bind(const struct rxe_send_wqe *wqe)
{
	assert(wqe->opcode == RXE_WR_BIND_MW);
	return (const struct rxe_bind *)(const void *)wqe->tail;
}

struct rxe_recv_wqe {
	uint64_t wr_id;
	uint32_t len; /* sum of the SGEs */
	uint32_t num_sge;
	struct rxe_sge sge[];
};

/* A ring of entries of a fixed stride. head and tail are free-running: head is the oldest entry
 * not retired, tail the next to fill. */
struct rxe_ring {
	uint8_t *mem;
	uint32_t stride;
	uint32_t mask;	/* slots - 1, a power of two */
	uint32_t limit; /* entries that creation promised */
	uint32_t head;
	uint32_t tail;
};

static inline void *rxe_ring_at(const struct rxe_ring *ring, uint32_t index)
{
	return ring->mem + (size_t)(index & ring->mask) * ring->stride;
}

static inline uint32_t rxe_ring_used(const struct rxe_ring *ring)
{
	return ring->tail - ring->head;
}

/* Slots of a ring for this many entries: a power of two. */
uint32_t rxe_ring_slots(uint32_t entries);
size_t rxe_send_stride(uint32_t max_sge, uint32_t max_inline);
size_t rxe_recv_stride(uint32_t max_sge);
/* Bytes of a ring for this many entries; 0 entries need 0 bytes. */
size_t rxe_ring_bytes(uint32_t entries, size_t stride);
void rxe_ring_init(struct rxe_ring *ring, void *mem, uint32_t entries, size_t stride);

/* Moves what is in the ring, which must fit, to memory of this many entries. */
void rxe_ring_move(struct rxe_ring *ring, void *mem, uint32_t entries);

/* Copies a receive's SGEs. Returns the sum of their lengths, at most UINT32_MAX: a receive longer
 * than the longest message is valid, and the rest is never filled. */
uint32_t rxe_copy_sges(struct rxe_sge *to, const struct rxe_recv_wr *wr);
/* Copies a receive into the ring. The caller has checked the state. */
enum post_result rxe_ring_push_recv(struct rxe_ring *ring, const struct rxe_recv_wr *wr,
				    uint32_t max_sge);

#endif
