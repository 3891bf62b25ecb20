// SPDX-License-Identifier: MIT
/* The table of checks, and lists of them. */
#include "lib/findings/table.h"

#include <string.h>
#include <strings.h>

const struct check_row check_table[CHECK_END] = {
	[CHECK_MEM_SEND_CHANGED] = {
		"RXE-MEM-001", "send-buffer-changed",
		"A send buffer was changed before its completion was polled.",
		"ibv_post_send(3): the buffers used by a WR can only be safely reused after the WR "
		"has been fully executed and a WCE has been retrieved; IBTA 10.7.3.1",
		"Poll the completion of the request, or of a later signalled request of the same "
		"queue pair, before you write to the buffer; or copy the bytes into the request "
		"(IBV_SEND_INLINE).",
	},
	[CHECK_MEM_OVERLAP] = {
		"RXE-MEM-002", "receives-overlap",
		"Two outstanding requests write to the same bytes: receives, RDMA READs or atomics.",
		"ibv_post_recv(3): the buffers used by a WR can only be safely reused after the WR has "
		"been fully executed; IBTA 10.7.3.1",
		"Give each outstanding request a buffer of its own.",
	},
	[CHECK_MEM_FREED] = {
		"RXE-MEM-004", "freed-in-use",
		"Memory was freed, unmapped or given back, or its function returned, while an "
		"outstanding request needs it.",
		"ibv_post_send(3), ibv_post_recv(3): the buffers used by a WR can only be safely "
		"reused after the WR has been fully executed and a WCE has been retrieved; IBTA "
		"10.7.3.1",
		"Poll the completions of the requests, or destroy the queue pair or move it to the "
		"error state, before the memory ends.",
	},
	[CHECK_MEM_STALE] = {
		"RXE-MEM-005", "stale-region-used",
		"A request uses a region over memory that was freed, unmapped or moved after it had "
		"been registered.",
		"ibv_reg_mr(3); IBTA 10.6.2: a region keeps the pages that it was registered with, "
		"what the program maps later is not in it",
		"Deregister a region before its memory ends, and register new memory.",
	},
	[CHECK_MEM_ARRIVAL] = {
		"RXE-MEM-007", "receive-buffer-written",
		"The program wrote to the buffer of an outstanding receive, RDMA READ or atomic.",
		"ibv_post_recv(3): the buffers used by a WR can only be safely reused after the WR has "
		"been fully executed and a WCE has been retrieved; IBTA 10.7.3.1",
		"Prepare the buffer before you post it, and do not write to it until you have polled "
		"the completion.",
	},
	[CHECK_MEM_REMOTE] = {
		"RXE-MEM-008", "deregistered-for-peer",
		"A memory region was deregistered while the peer has an outstanding RDMA WRITE, RDMA "
		"READ or atomic to it.",
		"ibv_dereg_mr(3); IBTA 10.6.7.2.7: a remote request to a region that was deregistered "
		"is refused, and the connection is lost",
		"Let the peer report, by a message after its last request, that it has finished.",
	},
	[CHECK_THREAD_DOMAIN] = {
		"RXE-THREAD-001", "thread-domain-shared",
		"Two threads use objects of one thread domain without an order between them.",
		"ibv_alloc_td(3): objects of a thread domain are for a single thread, the library takes "
		"no locks for them",
		"Use the objects in one thread, or hold a lock around each use; an order by atomics "
		"alone is not seen.",
	},
	[CHECK_THREAD_CQ] = {
		"RXE-THREAD-002", "single-threaded-cq-shared",
		"Two threads use a single-threaded completion queue without an order between them.",
		"ibv_create_cq_ex(3): IBV_CREATE_CQ_ATTR_SINGLE_THREADED promises that the queue is "
		"used in a single-threaded fashion",
		"Poll the queue in one thread, hold a lock around each use, or create it without the "
		"flag; an order by atomics alone is not seen.",
	},
	[CHECK_RACE_REMOTE] = {
		"RXE-RACE-001", "remote-requests-race",
		"Requests of two queue pairs access the same bytes at the peer, at least one of them "
		"writes, and nothing orders them.",
		"IBTA 10.8.3.3: requests of different queue pairs have no order; only atomics are atomic "
		"with each other",
		"Poll the completion of the first request before you post the second, or use one queue "
		"pair.",
	},
	[CHECK_RACE_FENCE] = {
		"RXE-RACE-002", "write-passes-read",
		"An RDMA WRITE follows an RDMA READ of the same bytes without the fence: the READ may "
		"return what the WRITE writes.",
		"IBTA 10.8.3.3, ibv_post_send(3): the order of a WRITE after a READ is guaranteed only "
		"with IBV_SEND_FENCE",
		"Set IBV_SEND_FENCE in the WRITE, or poll the completion of the READ first.",
	},
	[CHECK_RACE_LOCAL] = {
		"RXE-RACE-003", "local-request-races-peer",
		"A request of this side and a request of the peer access the same bytes, at least one of "
		"them writes, and nothing orders them.",
		"IBTA 9.7.6, 10.8.3.3: memory that a peer writes to or reads is in order only after a "
		"completion, or after a message that the peer sends later",
		"Let the peer send a message after its request, and poll its completion first.",
	},
	[CHECK_RACE_HISTORY] = {
		"RXE-RACE-004", "requests-unordered",
		"Requests of two processes access the same bytes, at least one of them writes, and no "
		"message, flag or read of the device orders them, although the first has ended.",
		"IBTA 9.7.6, 10.8.3.3: a completion orders a request for the process that polls it; "
		"others need a message of that process",
		"Let the process that has polled the first completion send a message before the other "
		"process posts. What sockets, files and shared memory order is not seen.",
		.is_extra = true,
	},
	[CHECK_QUEUE_CQ_OVERFLOW] = {
		"RXE-QUEUE-001", "cq-can-overflow",
		"More requests are outstanding than their completion queue has entries.",
		"ibv_create_cq(3) and IBTA 11.2.8.1: a completion queue that overruns is lost, with all "
		"its queue pairs",
		"Create the completion queue with at least as many entries as signalled sends and "
		"receives can be outstanding, or poll before you post more.",
	},
	[CHECK_QUEUE_UNSIGNALLED] = {
		"RXE-QUEUE-002", "unsignalled-never-freed",
		"The send queue is full of unsignalled requests: no completion will ever free an entry.",
		"ibv_post_send(3), IBTA 10.8.2.2: entries of unsignalled requests are freed by the "
		"completion of a later signalled one",
		"Set IBV_SEND_SIGNALED at least once in every max_send_wr requests, and poll its "
		"completion.",
	},
	[CHECK_EVENT_LOST_WAKE_UP] = {
		"RXE-EVENT-001", "lost-wake-up",
		"The program waits for a completion event without having polled since it armed the "
		"queue: a completion that came before brings no event.",
		"ibv_get_cq_event(3), ibv_req_notify_cq(3): an event is generated for the first "
		"completion that is added after the call",
		"After ibv_req_notify_cq(), poll until the queue is empty, and only then wait.",
	},
	[CHECK_EVENT_NOT_ACKED] = {
		"RXE-EVENT-002", "events-not-acknowledged",
		"A completion queue is destroyed with unacknowledged events: ibv_destroy_cq() waits "
		"forever.",
		"ibv_get_cq_event(3): ibv_destroy_cq() waits for all completion events to be "
		"acknowledged",
		"Call ibv_ack_cq_events() for each event that ibv_get_cq_event() returned.",
	},
	[CHECK_LIFE_LEAK_CLOSE] = {
		"RXE-LIFE-001", "leaked-at-close",
		"The device was closed while objects of its context were alive.",
		"ibv_close_device(3): the call does not release the resources allocated by the context",
		"Destroy the objects in the reverse order of their making before ibv_close_device().",
	},
	[CHECK_LIFE_LEAK_EXIT] = {
		"RXE-LIFE-002", "leaked-at-exit",
		"The program ended with objects that it had not destroyed.",
		"ibv_open_device(3), and the manual page of each object: what a program makes it "
		"destroys",
		"Destroy the objects and close the device before the program ends.",
	},
	[CHECK_LIFE_USE_AFTER] = {
		"RXE-LIFE-003", "used-after-destroy",
		"An object was used after it had been destroyed.",
		"the manual page of the verb that destroys the object",
		"Keep the object until the last use; drop every copy of its pointer when it is "
		"destroyed.",
	},
	[CHECK_LIFE_TWICE] = {
		"RXE-LIFE-004", "destroyed-twice",
		"An object was destroyed twice.",
		"the manual page of the verb that destroys the object",
		"Destroy each object once; set the pointer to NULL.",
	},
	[CHECK_LIFE_OUTSTANDING] = {
		"RXE-LIFE-005", "destroyed-with-requests",
		"A queue pair was destroyed while send requests were outstanding: whether they reach "
		"the peer is undefined.",
		"ibv_destroy_qp(3); IBTA 10.2.4.3: outstanding requests are discarded",
		"Poll the completion of the last request first, or move the queue pair to the error "
		"state and poll what is flushed.",
	},
	[CHECK_MEM_SEND_OVERLAPS] = {
		"RXE-MEM-003", "send-overlaps-receive",
		"A send buffer overlaps the buffer of an outstanding receive, RDMA READ or "
		"atomic: the device may write to it while it sends it.",
		"ibv_post_recv(3), ibv_post_send(3): the buffers used by a WR can only be "
		"safely reused after the WR has been fully executed; IBTA 10.7.3.1",
		"Send from another buffer, or post the receive when the send has completed.",
	},
	[CHECK_MEM_DEREGISTERED] = {
		"RXE-MEM-006", "deregistered-in-use",
		"A memory region was deregistered while an outstanding request needs it.",
		"ibv_dereg_mr(3); IBTA 10.6.7.2.7: outstanding requests that access a region "
		"that was deregistered fail",
		"Poll the completions of the requests, or destroy the queue pair, before you "
		"deregister the region.",
	},
	[CHECK_QUEUE_UD_SHORT] = {
		"RXE-QUEUE-005", "ud-receive-too-short",
		"A receive of a UD queue pair is shorter than 40 bytes: it takes no message.",
		"ibv_post_recv(3): for UD, the first 40 bytes of the buffer hold the Global "
		"Routing Header",
		"Make each UD receive 40 bytes longer than the longest message.",
	},
	[CHECK_QUEUE_NO_RECEIVE] = {
		"RXE-QUEUE-003", "no-receive-posted",
		"A message found no receive posted by its peer, and the retries of rnr_retry ran out.",
		"ibv_modify_qp(3): rnr_retry is the number of times to retry before RNR_RETRY_EXC_ERR; "
		"IBTA 9.7.5.2.8",
		"Post receives before the peer sends: agree on credits, or use a shared receive queue "
		"with a limit. A larger rnr_retry or min_rnr_timer only gives the receiver more time.",
	},
	[CHECK_QUEUE_RNR_FOREVER] = {
		"RXE-QUEUE-004", "rnr-retries-forever",
		"A queue pair has rnr_retry 7: a send waits forever while its peer posts no receive.",
		"ibv_modify_qp(3): the value 7 means to retry an infinite number of times; IBTA "
		"9.7.5.2.8",
		"Use a number below 7 where the peer may stop; then the send ends with "
		"IBV_WC_RNR_RETRY_EXC_ERR.",
		.is_note = true,
	},
	[CHECK_QUEUE_UNPOLLED] = {
		"RXE-QUEUE-006", "completions-not-polled",
		"Sends are posted again and again, while completions of the queue pair wait in a "
		"completion queue that the program does not poll.",
		"ibv_post_send(3), ibv_poll_cq(3); IBTA 10.8.2.2: an entry of a send queue is free when "
		"its completion has been retrieved, a message is received when its completion has been",
		"Poll the completion queues between the requests, both of them where sends and receives "
		"have one each; when ibv_post_send() returns ENOMEM, poll before you try again.",
		.is_note = true,
	},
	[CHECK_QUEUE_INLINE] = {
		"RXE-QUEUE-007", "inline-too-long",
		"A request has more inline data than its queue pair was granted.",
		"ibv_create_qp(3): max_inline_data is the largest message that can be posted inline, "
		"and the call updates it to the actual value",
		"Ask for max_inline_data in ibv_create_qp(), and send longer messages without "
		"IBV_SEND_INLINE.",
	},
	[CHECK_EVENT_CHANNEL_IN_USE] = {
		"RXE-EVENT-003", "channel-in-use",
		"A completion channel was destroyed while completion queues use it.",
		"ibv_create_comp_channel(3): ibv_destroy_comp_channel() fails if any CQs are "
		"still associated with the channel",
		"Destroy the completion queues first.",
	},
	[CHECK_EVENT_ASYNC_NOT_ACKED] = {
		"RXE-EVENT-004", "async-events-not-acknowledged",
		"An object is destroyed with unacknowledged asynchronous events: the call "
		"waits forever.",
		"ibv_get_async_event(3): all async events must be acknowledged, destroying an "
		"object waits for its events",
		"Call ibv_ack_async_event() for each event that ibv_get_async_event() "
		"returned.",
	},
	[CHECK_EVENT_ASYNC_UNREAD] = {
		"RXE-EVENT-005", "async-event-unread",
		"A queue pair was destroyed that had failed, and the asynchronous event of its failure was "
		"not read.",
		"ibv_get_async_event(3); IBTA 11.6.3: a responder learns of an error of a queue pair by "
		"an affiliated asynchronous error, which has no completion",
		"Read events by ibv_get_async_event() in a thread, or when async_fd is readable.",
		.is_note = true,
	},
	[CHECK_LIFE_FORKED] = {
		"RXE-LIFE-006", "used-after-fork",
		"The child of a fork() used an object of its parent.",
		"ibv_fork_init(3): objects belong to the process that made them",
		"Open the device again in the child, or call fork() before the first verb.",
	},
	[CHECK_LIFE_LEAKS_ALL] = {
		"RXE-LIFE-007", "leaks-all",
		"The program ended with objects that it had not destroyed, also those that it "
		"can still reach.",
		"ibv_open_device(3), and the manual page of each object: what a program makes "
		"it destroys",
		"Destroy the objects and close the device before the program ends.",
		true,
	},
	[CHECK_COMP_ON_ERROR] = {
		"RXE-COMP-001", "field-read-on-error",
		"A field was read of a completion whose status is an error.",
		"ibv_poll_cq(3): not all wc attributes are always valid; if the completion "
		"status is other than IBV_WC_SUCCESS, only wr_id, status, qp_num and "
		"vendor_err are valid",
		"Check the status first; remember by wr_id what the request was.",
	},
	[CHECK_COMP_IMM] = {
		"RXE-COMP-002", "immediate-read-without-flag",
		"Immediate data was read of a completion that has none.",
		"ibv_poll_cq(3): imm_data is valid when IBV_WC_WITH_IMM is set in wc_flags",
		"Check IBV_WC_WITH_IMM (or IBV_WC_WITH_INV) in the flags first.",
	},
	[CHECK_COMP_LENGTH] = {
		"RXE-COMP-003", "length-read-of-send",
		"The length was read of the completion of a send or RDMA WRITE.",
		"ibv_poll_cq(3); IBTA 11.4.2.1: the number of bytes transferred is returned "
		"for receives, RDMA READs and atomics",
		"Remember by wr_id how long the request was.",
	},
	[CHECK_COMP_SRC_QP] = {
		"RXE-COMP-004", "source-read-of-connection",
		"The source QP was read of a completion of a connected queue pair.",
		"ibv_poll_cq(3); IBTA 11.4.2.1: the remote QP number is returned for datagram "
		"services",
		"Use the qp_num of the completion, and the peer that it is connected to.",
	},
	[CHECK_COMP_POISON] = {
		"RXE-COMP-005", "invalid-length-used",
		"A request has the length of a completion field that was not valid.",
		"ibv_poll_cq(3): byte_len is valid in successful completions of receives, "
		"RDMA READs and atomics",
		"Check status and opcode before you use byte_len.",
	},
	[CHECK_PEER_MTU] = {
		"RXE-PEER-001", "path-mtu-differs",
		"The two queue pairs of a connection have different path MTUs.",
		"ibv_modify_qp(3), IBTA 11.2.5.2: both ends of a connection use one path MTU",
		"Exchange the MTU, and set the smaller one at both ends.",
	},
	[CHECK_PEER_PSN] = {
		"RXE-PEER-002", "psn-differs",
		"The sq_psn of a queue pair is not the rq_psn of its peer: the first packet "
		"is taken for a duplicate or a loss.",
		"ibv_modify_qp(3), IBTA 11.2.5.2: the initial PSN of the send queue is that "
		"which the remote receive queue expects",
		"Exchange the PSNs; set rq_psn to what the peer has as sq_psn.",
	},
	[CHECK_PEER_READS] = {
		"RXE-PEER-003", "too-many-reads",
		"A queue pair may have more RDMA READs and atomics outstanding than its peer "
		"can answer.",
		"ibv_modify_qp(3): max_rd_atomic must be at most the max_dest_rd_atomic of "
		"the remote QP; IBTA 9.4.4",
		"Set max_rd_atomic to the smaller of the two.",
	},
	[CHECK_PEER_TIMEOUT] = {
		"RXE-PEER-004", "waits-forever",
		"A queue pair has timeout 0: a request whose packet is lost, or whose peer "
		"has exited, waits forever.",
		"ibv_modify_qp(3): timeout 0 means to wait an infinite time; IBTA 9.9.2.1.1",
		"Set a timeout, for example 14 (67 ms).",
	},
	[CHECK_PEER_ACCESS] = {
		"RXE-PEER-005", "peer-denies-access",
		"A request needs an access that the queue pair of its peer does not allow.",
		"ibv_modify_qp(3): qp_access_flags has the remote operations that the QP allows; IBTA "
		"9.7.5.2.4: others are answered by a Remote Access Error",
		"Set the flag in qp_access_flags of the peer on its way to INIT or RTR.",
	},
	[CHECK_PEER_TYPE] = {
		"RXE-PEER-006", "types-differ",
		"The two queue pairs of a connection are of different types: each drops the packets of "
		"the other.",
		"ibv_create_qp(3), IBTA 9.6: the opcode of a packet names its transport service, which "
		"the destination QP must have",
		"Create both queue pairs with the same qp_type.",
	},
	[CHECK_PEER_GID] = {
		"RXE-PEER-007", "gid-of-another",
		"A queue pair sends to a GID that is not the one of its peer.",
		"ibv_modify_qp(3), IBTA 9.6.1.5: ah_attr names the peer, and a packet from another address "
		"is dropped",
		"Let each end send its GID of the sgid_index that it uses, and set dgid to what the peer "
		"has sent.",
	},
	[CHECK_CM_EVENTS_NOT_ACKED] = {
		"RXE-CM-001", "cm-events-not-acknowledged",
		"An rdma_cm_id is destroyed with unacknowledged events: rdma_destroy_id() waits "
		"forever.",
		"rdma_destroy_id(3): users must ack all related events before calling this routine",
		"Call rdma_ack_cm_event() for each event that rdma_get_cm_event() returned.",
	},
	[CHECK_CM_OWN_EVENT] = {
		"RXE-CM-002", "destroyed-in-own-event",
		"The thread that handles an event of an rdma_cm_id destroys the id before it "
		"acknowledges the event: the call waits for itself.",
		"rdma_destroy_id(3), rdma_get_cm_event(3): destruction of an rdma_cm_id blocks until "
		"related events have been acknowledged",
		"Acknowledge the event first, then destroy the id.",
	},
	[CHECK_CM_CHANNEL_IN_USE] = {
		"RXE-CM-003", "event-channel-in-use",
		"An event channel was destroyed while ids are on it.",
		"rdma_destroy_event_channel(3): all ids associated with the channel must be "
		"destroyed, and all returned events must be acked before",
		"Destroy the ids first, or move them to another channel by rdma_migrate_id().",
	},
	[CHECK_CM_PRIVATE] = {
		"RXE-CM-004", "private-data-too-long",
		"More private data was given than the message of this port space can carry.",
		"rdma_connect(3): 56 bytes for RDMA_PS_TCP, 180 for RDMA_PS_UDP; rdma_accept(3): 196 "
		"and 136; rdma_reject(3): 148 and 136",
		"Send the data in a message when the connection is established.",
	},
	[CHECK_CM_NO_QP] = {
		"RXE-CM-005", "no-queue-pair",
		"A connection was requested or accepted without a queue pair.",
		"rdma_connect(3), rdma_accept(3): qp_num is the QP number associated with the "
		"connection, unless a QP was created on the rdma_cm_id",
		"Call rdma_create_qp() first, or set conn_param.qp_num.",
	},
	[CHECK_CM_DEPTH] = {
		"RXE-CM-006", "depth-above-request",
		"A connection was accepted with a larger initiator_depth than the request offers: the "
		"peer cannot answer as many RDMA READs and atomics.",
		"rdma_accept(3): initiator_depth must be less than or equal to the initiator_depth "
		"value reported in the connect request event",
		"Use the smaller of the event's value and the device's max_qp_init_rd_atom.",
	},
	[CHECK_CM_NOT_DISCONNECTED] = {
		"RXE-CM-007", "not-disconnected",
		"A connected rdma_cm_id was destroyed without rdma_disconnect().",
		"rdma_cm(7), client and server operation: rdma_disconnect() tears down the connection "
		"before the QP and the id are destroyed",
		"Call rdma_disconnect(), and wait for RDMA_CM_EVENT_DISCONNECTED where the last "
		"messages matter.",
	},
	[CHECK_CM_HAS_QP] = {
		"RXE-CM-008", "destroyed-with-qp",
		"An rdma_cm_id was destroyed while it had a queue pair.",
		"rdma_destroy_id(3): users must free any associated QP with the rdma_cm_id before "
		"calling this routine",
		"Call rdma_destroy_qp(), or rdma_destroy_ep(), which destroys both.",
		.is_note = true,
	},
	[CHECK_PORT_ATOMIC] = {
		"RXE-PORT-001", "atomic-not-aligned",
		"The remote address of an atomic is no multiple of 8.",
		"IBTA 9.4.5: the virtual address in an atomic command shall be aligned to 8 bytes; the "
		"responder answers others with a NAK",
		"Align the variable to 8 bytes (_Alignas(8), aligned_alloc()).",
	},
	[CHECK_PORT_DM_COPY] = {
		"RXE-PORT-002", "device-memory-copy-not-aligned",
		"Bytes were copied to or from device memory whose number or offset is no multiple of 4.",
		"the provider for ConnectX refuses it with EINVAL (rdma-core 44, providers/mlx5/verbs.c)",
		"Copy whole words of 4 bytes.",
		.is_note = true,
	},
	[CHECK_PORT_SGES] = {
		"RXE-PORT-003", "more-than-adapters-grant",
		"A queue pair was asked for more gather entries or inline data than some adapters grant.",
		"ibv_query_device(3): max_sge is the device's limit: 30 on ConnectX (Linux 6.1, mlx5), 13 "
		"on irdma, 2 for sends on EFA (rdma-core 44); ibv_create_qp(3): inline data up to 101 "
		"bytes on irdma, 32 on EFA",
		"Ask for what the program needs; use what ibv_query_device() reports and "
		"ibv_create_qp() grants.",
		.is_note = true,
	},
	[CHECK_PORT_DM_ALIGN] = {
		"RXE-PORT-004", "device-memory-alignment",
		"An atomic accesses device memory that was allocated with log_align_req below 3: its "
		"address need not be a multiple of 8.",
		"ibv_alloc_dm(3): RDMA atomics may require an alignment, which log_align_req asks for; "
		"IBTA 9.4.5: the address of an atomic shall be aligned to 8 bytes",
		"Set log_align_req to 3, and to what the program needs at most: adapters refuse an "
		"alignment above theirs.",
		.is_note = true,
	},
	[CHECK_PORT_EARLY] = {
		"RXE-PORT-005", "read-before-complete",
		"The program read the last bytes of a message before the message was complete: it waits "
		"for data by looking at memory.",
		"IBTA 9.5: the order in which the bytes of a message are written to memory is not "
		"defined; they are there once the receiver has the completion of the message, or of a "
		"later one of the queue pair",
		"Wait for a completion: of an RDMA WRITE with immediate data, or of a SEND that follows "
		"the RDMA WRITE.",
		.is_note = true,
	},
	[CHECK_REFUSAL] = {
		"RXE-REFUSAL-001", "call-refused",
		"A call returned an error other than EOPNOTSUPP.",
		"the manual page of the call, which the text names where it says more",
		"The text says what was wrong, and what is possible.",
		.is_note = true,
	},
};

static bool is_of(const struct check_row *row, const char *word, size_t len)
{
	const char *group = row->id + strlen("RXE-");
	const size_t group_len = strcspn(group, "-");

	if ((strlen(row->id) == len && strncasecmp(row->id, word, len) == 0) ||
	    (strlen(row->name) == len && strncasecmp(row->name, word, len) == 0))
		return true;
	if (row->is_extra)
		return false;
	return (group_len == len && strncasecmp(group, word, len) == 0) ||
	       (len == 3 && strncasecmp("all", word, len) == 0) || (len == 1 && *word == '1');
}

const char *check_level(const struct check_row *row)
{
	return row->is_note ? "note" : "error";
}

const struct check_row *check_find(const char *id)
{
	for (size_t i = 0; i < CHECK_END; i++) {
		if (strcmp(check_table[i].id, id) == 0)
			return &check_table[i];
	}
	return NULL;
}

static bool set_word(const char *word, size_t len, bool value, bool on[static CHECK_END])
{
	bool found = false;

	for (size_t i = 0; i < CHECK_END; i++) {
		if (is_of(&check_table[i], word, len)) {
			on[i] = value;
			found = true;
		}
	}
	return found;
}

const char *check_select(const char *list, bool on[static CHECK_END])
{
	const bool all = *list == '\0' || *list == '-';

	for (size_t i = 0; i < CHECK_END; i++)
		on[i] = all && !check_table[i].is_extra;
	while (*list) {
		const size_t len = strcspn(list, ",");
		const bool out = *list == '-';

		if (len > 0 && !set_word(list + out, len - out, !out, on))
			return list;
		list += len + (list[len] == ',');
	}
	return NULL;
}
