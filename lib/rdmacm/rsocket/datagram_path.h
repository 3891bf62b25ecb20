/* SPDX-License-Identifier: MIT */
/* Paths of datagram rsockets: UD queue pairs with their buffers. The lock of the rsocket is held by
 * the caller of each function. */
#ifndef RXE_RSOCKET_DATAGRAM_PATH_H
#define RXE_RSOCKET_DATAGRAM_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/rdmacm/rsocket/datagram.h"

struct rdma_cm_id;
struct rs_iov;
struct rsocket;

struct rs_path {
	struct rs_path *prev, *next;
	struct rdma_cm_id *id; /* bound to the device */
	struct rs_address from;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory; /* buffers of receives, then of sends */
	size_t memory_len;
	uint32_t recvs, sends;	  /* how many */
	uint32_t most;		  /* bytes of a message, its header included */
	struct rs_unread *unread; /* one for each receive */
	uint32_t *free_sends, num_free;
	bool is_armed;
	bool is_lost; /* its queue pair is in error */
};

/* The path on the id's device with this address; makes it when there is none, and then takes over
 * the id. 0 or a positive errno. */
int rs_path_get(struct rsocket *rs, struct rdma_cm_id *id, const struct rs_address *from,
		struct rs_path **ret);
/* Ends a path. Its unread messages are lost. */
void rs_path_free(struct rsocket *rs, struct rs_path *path);
/* Sends len bytes as one message. A send is free, and header and bytes do not exceed most. 0 or a
 * positive errno. */
int rs_path_send(struct rsocket *rs, struct rs_path *path, const struct rs_peer *peer,
		 struct rs_iov *iov, uint32_t len);
/* Posts the receive again that an unread message is in. */
void rs_path_receive_again(struct rs_path *path, const struct rs_unread *unread);
/* Handles all completions. */
void rs_path_progress(struct rsocket *rs, struct rs_path *path);
void rs_path_arm(struct rs_path *path);
/* Takes the event out of the completion channel, if one is there. */
void rs_path_take_event(struct rs_path *path);

#endif
