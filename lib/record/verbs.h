/* SPDX-License-Identifier: MIT */
/* The table of recorded verbs and calls of librdmacm: the name, then the names of arguments and
 * results, in their order in struct record_call. Objects are named by handles, queue pairs by their
 * numbers, regions by lkeys, channels by descriptors, ids of librdmacm by their addresses. */
#ifndef RXE_RECORD_VERBS_H
#define RXE_RECORD_VERBS_H

#define RECORD_VERBS(X)                                                                            \
	X(OPEN_DEVICE, "ibv_open_device context")                                                  \
	X(CLOSE_DEVICE, "ibv_close_device context")                                                \
	X(ALLOC_PD, "ibv_alloc_pd context pd")                                                     \
	X(ALLOC_PARENT_DOMAIN, "ibv_alloc_parent_domain parent pd")                                \
	X(DEALLOC_PD, "ibv_dealloc_pd pd")                                                         \
	X(ALLOC_TD, "ibv_alloc_td context")                                                        \
	X(DEALLOC_TD, "ibv_dealloc_td")                                                            \
	X(REG_MR, "ibv_reg_mr pd addr length access lkey rkey")                                    \
	X(REG_MR_IOVA, "ibv_reg_mr_iova pd addr length access lkey rkey iova")                     \
	X(REG_DMABUF_MR, "ibv_reg_dmabuf_mr pd offset length access lkey rkey iova fd")            \
	X(REG_DM_MR, "ibv_reg_dm_mr pd offset length access lkey rkey dm")                         \
	X(ALLOC_NULL_MR, "ibv_alloc_null_mr pd lkey")                                              \
	X(REREG_MR, "ibv_rereg_mr lkey flags pd addr length access")                               \
	X(DEREG_MR, "ibv_dereg_mr lkey")                                                           \
	X(ALLOC_MW, "ibv_alloc_mw pd type rkey")                                                   \
	X(DEALLOC_MW, "ibv_dealloc_mw rkey")                                                       \
	X(ALLOC_DM, "ibv_alloc_dm context length dm")                                              \
	X(FREE_DM, "ibv_free_dm dm")                                                               \
	X(OPEN_XRCD, "ibv_open_xrcd context")                                                      \
	X(CLOSE_XRCD, "ibv_close_xrcd")                                                            \
	X(CREATE_AH, "ibv_create_ah pd ah")                                                        \
	X(DESTROY_AH, "ibv_destroy_ah ah")                                                         \
	X(CREATE_CHANNEL, "ibv_create_comp_channel context fd")                                    \
	X(DESTROY_CHANNEL, "ibv_destroy_comp_channel fd")                                          \
	X(CREATE_CQ, "ibv_create_cq cqe fd cq")                                                    \
	X(RESIZE_CQ, "ibv_resize_cq cq cqe")                                                       \
	X(DESTROY_CQ, "ibv_destroy_cq cq")                                                         \
	X(REQ_NOTIFY_CQ, "ibv_req_notify_cq cq solicited_only")                                    \
	X(GET_CQ_EVENT, "ibv_get_cq_event fd cq")                                                  \
	X(ACK_CQ_EVENTS, "ibv_ack_cq_events cq events")                                            \
	X(POLL_CQ, "ibv_poll_cq cq")                                                               \
	X(COMPLETION,                                                                              \
	  "completion cq qp wr_id status opcode bytes flags imm src_qp vendor_err left")           \
	X(CREATE_SRQ, "ibv_create_srq pd max_wr srq")                                              \
	X(MODIFY_SRQ, "ibv_modify_srq srq mask max_wr limit")                                      \
	X(DESTROY_SRQ, "ibv_destroy_srq srq")                                                      \
	X(CREATE_QP, "ibv_create_qp pd type send_cq recv_cq srq max_send_wr max_recv_wr qp")       \
	X(MODIFY_QP, ("ibv_modify_qp qp mask state path_mtu dest_qp sq_psn rq_psn timeout "        \
		      "retry_cnt rnr_retry max_rd_atomic max_dest_rd_atomic"))                     \
	X(QUERY_QP, "ibv_query_qp qp mask state")                                                  \
	X(DESTROY_QP, "ibv_destroy_qp qp")                                                         \
	X(ATTACH_MCAST, "ibv_attach_mcast qp")                                                     \
	X(DETACH_MCAST, "ibv_detach_mcast qp")                                                     \
	X(POST_SEND, ("ibv_post_send qp wr_id opcode flags sges bytes remote_addr rkey imm "       \
		      "compare swap remote_qp"))                                                   \
	X(POST_RECV, "ibv_post_recv qp wr_id sges bytes")                                          \
	X(POST_SRQ_RECV, "ibv_post_srq_recv srq wr_id sges bytes")                                 \
	X(WR_COMPLETE, "ibv_wr_complete qp requests")                                              \
	X(WR_ABORT, "ibv_wr_abort qp requests")                                                    \
	X(GET_ASYNC_EVENT, "ibv_get_async_event type element")                                     \
	X(ACK_ASYNC_EVENT, "ibv_ack_async_event type element")                                     \
	X(CM_CREATE_CHANNEL, "rdma_create_event_channel fd")                                       \
	X(CM_DESTROY_CHANNEL, "rdma_destroy_event_channel fd")                                     \
	X(CM_CREATE_ID, "rdma_create_id fd port_space id")                                         \
	X(CM_CREATE_EP, "rdma_create_ep id qp")                                                    \
	X(CM_DESTROY_ID, "rdma_destroy_id id")                                                     \
	X(CM_DESTROY_EP, "rdma_destroy_ep id")                                                     \
	X(CM_MIGRATE_ID, "rdma_migrate_id id fd")                                                  \
	X(CM_CREATE_QP, "rdma_create_qp id qp")                                                    \
	X(CM_DESTROY_QP, "rdma_destroy_qp id qp")                                                  \
	X(CM_CREATE_SRQ, "rdma_create_srq id srq")                                                 \
	X(CM_DESTROY_SRQ, "rdma_destroy_srq id srq")                                               \
	X(CM_BIND_ADDR, "rdma_bind_addr id address_high address_low port")                         \
	X(CM_RESOLVE_ADDR, "rdma_resolve_addr id address_high address_low port timeout_ms")        \
	X(CM_RESOLVE_ROUTE, "rdma_resolve_route id timeout_ms")                                    \
	X(CM_LISTEN, "rdma_listen id backlog")                                                     \
	X(CM_CONNECT, ("rdma_connect id qp private_bytes responder_resources initiator_depth "     \
		       "retry_count rnr_retry_count"))                                             \
	X(CM_GET_REQUEST, "rdma_get_request listener id qp")                                       \
	X(CM_ACCEPT, ("rdma_accept id qp private_bytes responder_resources initiator_depth "       \
		      "retry_count rnr_retry_count"))                                              \
	X(CM_REJECT, "rdma_reject id private_bytes")                                               \
	X(CM_ESTABLISH, "rdma_establish id qp")                                                    \
	X(CM_NOTIFY, "rdma_notify id type")                                                        \
	X(CM_DISCONNECT, "rdma_disconnect id qp")                                                  \
	X(CM_JOIN, "rdma_join_multicast id address_high address_low")                              \
	X(CM_LEAVE, "rdma_leave_multicast id address_high address_low")                            \
	X(CM_GET_EVENT, "rdma_get_cm_event fd event status id qp listener private_bytes")          \
	X(CM_ACK_EVENT, "rdma_ack_cm_event event id")

#define RECORD_ENUM(name, line) RECORD_##name,
enum record_verb { RECORD_VERBS(RECORD_ENUM) RECORD_VERB_END };
#undef RECORD_ENUM

#endif
