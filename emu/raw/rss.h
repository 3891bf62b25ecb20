/* SPDX-License-Identifier: MIT */
/* Receive side scaling: the Toeplitz hash of a frame's addresses and ports chooses the work queue.
 * Pure. */
#ifndef RXE_EMU_RAW_RSS_H
#define RXE_EMU_RAW_RSS_H

#include <stdint.h>

#include "emu/raw/frame.h"

#define RSS_KEY_LEN	40u
#define RSS_MAX_LOG_TBL 10u /* most work queues of a table, as a power of two */

/* Values of enum ibv_rx_hash_fields. */
enum rss_field {
	RSS_SRC_IPV4 = 1 << 0,
	RSS_DST_IPV4 = 1 << 1,
	RSS_SRC_IPV6 = 1 << 2,
	RSS_DST_IPV6 = 1 << 3,
	RSS_SRC_PORT_TCP = 1 << 4,
	RSS_DST_PORT_TCP = 1 << 5,
	RSS_SRC_PORT_UDP = 1 << 6,
	RSS_DST_PORT_UDP = 1 << 7,
	RSS_INNER = 1u << 31, /* of the headers behind the tunnel's */
};
#define RSS_FIELDS 0x800000ffu

struct rxe_qp;

/* Where an RSS queue pair delivers. The memory is the caller's. */
struct rxe_rss {
	uint32_t fields; /* enum rss_field */
	uint8_t key[RSS_KEY_LEN];
	uint32_t log_size;
	struct rxe_qp *const *wq; /* 1 << log_size work queues */
};

/* The Toeplitz hash as Microsoft defines it: the key's 32 bits at each set bit of the data are
 * added modulo 2. len is at most RSS_KEY_LEN - 4. */
uint32_t rss_toeplitz(const uint8_t key[RSS_KEY_LEN], const uint8_t *data, uint32_t len);
/* The hash of the fields that the frame has: source address, destination address, source port,
 * destination port. 0 when it has none of them. */
uint32_t rss_hash(const struct rxe_rss *rss, const struct raw_frame *frame);

#endif
