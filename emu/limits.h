/* SPDX-License-Identifier: MIT */
/* Every bound of the engine. A device offers no more (struct rxe_offer in engine.h), reports what
 * it offers, and enforces it. */
#ifndef RXE_EMU_LIMITS_H
#define RXE_EMU_LIMITS_H

/* A QPN is slot << 16 | number. The socket group steers by the top 8 bits. */
#define RXE_SLOT_SHIFT	  16
#define RXE_MAX_SLOTS	  256
#define RXE_MAX_QP	  4096 /* queue pairs of one process on one device */
#define RXE_MAX_QP_WR	  16384
#define RXE_MAX_SGE	  30
#define RXE_MAX_INLINE	  1024
#define RXE_MAX_CQ	  4096
#define RXE_MAX_CQE	  262144
#define RXE_MAX_SRQ	  1024
#define RXE_MAX_SRQ_WR	  16384
#define RXE_MAX_TAGS	  1024 /* tagged buffers of an SRQ; a power of two */
#define RXE_MAX_TM_OPS	  1024
#define RXE_MAX_MR	  65536 /* entries of the key table, 0 unused */
#define RXE_MAX_MW	  8192	/* memory windows of one process on one device */
#define RXE_MAX_PD	  4096
#define RXE_MAX_FLOW	  4096 /* flows of one process */
#define RXE_MAX_COUNTERS  4096 /* counters objects of one process */
#define RXE_MAX_POINTS	  256  /* of one counters object */
#define RXE_MAX_WQ_TABLE  1024 /* indirection tables of one process */
#define RXE_MAX_AH	  65536
#define RXE_MAX_XRCD	  4096
#define RXE_MAX_COMP_CNTR 65536
#define RXE_MAX_RD_ATOMIC 128 /* per QP, initiator and responder; as rdma_rxe */
#define RXE_MAX_MCAST_GRP 256
#define RXE_MAX_MCAST_QP  64	      /* QPs attached to one group in one process */
#define RXE_MAX_MSG_SIZE  0x40000000u /* 1 GiB; UD: one MTU */
#define RXE_MAX_FLUSH	  0x80000000u /* bytes that one FLUSH may name */
#define RXE_MAX_MR_SIZE	  (1ull << 46)
#define RXE_MAX_GIDS	  16
#define RXE_MAX_TX_PORTS  16
#define RXE_HOP_LIMIT	  64u /* used when the program's hop limit could not leave the subnet */
/* The window to one peer, in bytes of requests in flight. Linux's default socket buffer holds the
 * first; a local peer with a larger buffer gets up to the second. */
#define RXE_WINDOW_BYTES       (208u * 1024)
#define RXE_WINDOW_LOCAL_BYTES (2 * RXE_WINDOW_BYTES)

#endif
