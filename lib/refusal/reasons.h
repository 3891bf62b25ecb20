/* SPDX-License-Identifier: MIT */
/* The table of reasons: name, errno, manual page or NULL, and the sentence, which printf(3) formats
 * with the parameters of the refusal. The compiler checks their types. One row for one mistake; a
 * sentence names the object and says what is possible. The call's name comes in front. */
#ifndef RXE_REFUSAL_REASONS_H
#define RXE_REFUSAL_REASONS_H

#include <errno.h>
#include <inttypes.h>

#define WHY_UNKNOWN(error) "unknown", error, NULL, "no reason is known: %s"

/* Arguments. */
/* clang-format off */
#define WHY_NULL "null", EINVAL, NULL, "%s is NULL"
#define WHY_UNKNOWN_BITS "unknown_bits", EINVAL, NULL, "%s has unknown bits 0x%" PRIx64
#define WHY_BITS_REFUSED \
	"bits_refused", EOPNOTSUPP, NULL, \
	"%s has bits 0x%" PRIx64 " that the device does not have"
#define WHY_BITS_MISSING \
	"bits_missing", EINVAL, NULL, \
	"%s lacks bits 0x%" PRIx64 " that are required here"
#define WHY_BAD_VALUE "bad_value", EINVAL, NULL, "%s is %" PRIu64 ": %s"
#define WHY_ABOVE_LIMIT "above_limit", EINVAL, NULL, "%s %" PRIu64 " is above the device's %" PRIu64
#define WHY_BELOW_ONE "below_one", EINVAL, NULL, "%s is %" PRId64 ": at least 1 is needed"
#define WHY_BAD_PORT "bad_port", EINVAL, NULL, "port %u does not exist: the device has port 1"
#define WHY_SMALL_STRUCT \
	"small_struct", EINVAL, NULL, \
	"the program's %s has %zu bytes: at least %zu are needed"
#define WHY_NOT_OFFERED \
	"not_offered", EOPNOTSUPP, NULL, \
	"the device does not offer %s ('rxe_dm show --limits')"
#define WHY_NOT_SUPPORTED "not_supported", EOPNOTSUPP, NULL, "%s"

/* Objects. */
#define WHY_NULL_OBJECT "null_object", EINVAL, NULL, "the %s is NULL"
#define WHY_NOT_LIVE \
	"not_live", EINVAL, NULL, \
	"%p is no live %s: it was destroyed, or this library did not make it"
#define WHY_OTHER_KIND "other_kind", EINVAL, NULL, "%p is a %s, not a %s"
#define WHY_OVERWRITTEN "overwritten", EINVAL, NULL, "the program has overwritten the handle of %s"
#define WHY_INHERITED \
	"inherited", EINVAL, "ibv_fork_init(3)", \
	"%s belongs to the parent of this child of fork()"
#define WHY_INHERITED_MR \
	"inherited_mr", EOPNOTSUPP, "ibv_fork_init(3)", \
	"%s belongs to the parent of this child of fork()"
#define WHY_NO_ENGINE \
	"no_engine", EINVAL, "ibv_fork_init(3)", \
	"the %s belongs to the parent of this child of fork(), or its device has ended"
#define WHY_OTHER_DEVICE "other_device", EINVAL, NULL, "%s was made on another device"
#define WHY_OTHER_CONTEXT "other_context", EINVAL, NULL, "%s was made in another context"
#define WHY_NOT_A_DEVICE \
	"not_a_device", EINVAL, "ibv_get_device_list(3)", \
	"%p is no device of ibv_get_device_list()"
#define WHY_IN_USE "in_use", EBUSY, NULL, "%s is in use: %s"
#define WHY_IN_USE_ELSEWHERE \
	"in_use_elsewhere", EBUSY, NULL, \
	"%s is in use by another process, or by an object that this process has imported"
#define WHY_NO_HANDLE "no_handle", ENOENT, NULL, "the context has no %s with handle %u"
#define WHY_OTHER_PD "other_pd", EINVAL, NULL, "%s belongs to PD %u, not to PD %u"
#define WHY_TOO_MANY \
	"too_many", ENOMEM, "ibv_query_device(3)", \
	"the process has %u of at most %u %ss"
#define WHY_NO_MEMORY "no_memory", ENOMEM, NULL, "malloc() found no memory for %s"
#define WHY_CONTEXT_USED \
	"context_used", EBUSY, NULL, \
	"the context has an object that could not be destroyed"

/* The device, its server and the operating system. */
#define WHY_FAULT(error) \
	"fault", error, NULL, \
	"fault rule %u lets call %u fail ('rxe_dm show', 'rxe_dm fault')"
#define WHY_FATAL \
	"fatal", EIO, "ibv_get_async_event(3)", \
	"the device has had a fatal error: close its contexts and open it again"
#define WHY_SERVER_EXITED(error) \
	"server_exited", error, NULL, \
	"the device server has exited: restart the program"
#define WHY_DEVICE_FULL(error) \
	"device_full", error, "ibv_query_device(3)", \
	"the device has no %s left ('rxe_dm show --limits')"
#define WHY_SERVER(error) "server", error, NULL, "the device server refuses the %s: %s"
#define WHY_SYSTEM(error) "system", error, NULL, "%s: %s"
#define WHY_NO_EVENTFD(error) \
	"no_eventfd", error, "eventfd(2)", \
	"no descriptor for events: %s; 'ulimit -n' is the limit of this program"
#define WHY_NO_DESCRIPTOR \
	"no_descriptor", EMFILE, NULL, \
	"no descriptor is left in this program or the device server: raise 'ulimit -n'"
#define WHY_OPEN(error) "open", error, NULL, "cannot open %s: %s"
#define WHY_IMPORT(error) \
	"import", error, "ibv_import_device(3)", \
	"descriptor %d cannot be imported: %s"
#define WHY_BAD_FD "bad_fd", EBADF, NULL, "descriptor %d is not open"

/* Memory. */
#define WHY_ACCESS_NEEDS "access_needs", EINVAL, "ibv_reg_mr(3)", "%s needs IBV_ACCESS_LOCAL_WRITE"
#define WHY_ACCESS_UNKNOWN \
	"access_unknown", EINVAL, "ibv_reg_mr(3)", \
	"access flags 0x%x are unknown here"
#define WHY_ACCESS_REFUSED \
	"access_refused", EOPNOTSUPP, NULL, \
	"access flags 0x%x are not possible here"
#define WHY_MR_LENGTH \
	"mr_length", EINVAL, NULL, \
	"length %" PRIu64 " is above the device's max_mr_size %" PRIu64
#define WHY_WRAPS "wraps", EINVAL, NULL, "%s 0x%" PRIx64 " plus length %" PRIu64 " exceeds 64 bits"
#define WHY_WRAPS_FAULT "wraps_fault", EFAULT, NULL, "address %p plus size %zu exceeds 64 bits"
#define WHY_NOT_MAPPED \
	"not_mapped", EFAULT, NULL, \
	"the %" PRIu64 " bytes at %p are not all mapped%s"
#define WHY_TOO_LARGE \
	"too_large", ENOMEM, NULL, \
	"%" PRIu64 " bytes at %p are more than this machine's memory can hold"
#define WHY_IMPLICIT \
	"implicit", EINVAL, "ibv_reg_mr(3)", \
	"the implicit on-demand region (length SIZE_MAX) begins at address and iova 0, without " \
	"IBV_ACCESS_HUGETLB"
#define WHY_PERSISTENT \
	"persistent", EINVAL, NULL, \
	"IBV_ACCESS_FLUSH_PERSISTENT needs memory that is mapped from a file with MAP_SHARED, " \
	"and no IBV_ACCESS_ON_DEMAND"
#define WHY_FD_RANGE \
	"fd_range", EINVAL, NULL, \
	"offset %" PRIu64 " and length %" PRIu64 " are not within the %" PRId64 " bytes of " \
	"descriptor %d"
#define WHY_FD_MMAP(error) "fd_mmap", error, NULL, "descriptor %d cannot be mapped: %s"
#define WHY_FD_PAGE \
	"fd_page", EINVAL, "ibv_reg_dmabuf_mr(3)", \
	"offset 0x%" PRIx64 " and iova 0x%" PRIx64 " differ within a page"
#define WHY_MR_WAYS \
	"mr_ways", EINVAL, "ibv_reg_mr_ex(3)", \
	"comp_mask 0x%" PRIx64 " describes no memory: give ADDR, or FD with FD_OFFSET and IOVA, " \
	"not both"
#define WHY_NOT_IN_BUF \
	"not_in_buf", EINVAL, "ibv_alloc_buf(3)", \
	"the range is not within a live buffer of this PD"
#define WHY_DMAH_ODP "dmah_odp", EOPNOTSUPP, NULL, "a region with a DMA handle cannot be on demand"
#define WHY_REREG_FLAGS \
	"rereg_flags", EINVAL, "ibv_rereg_mr(3)", \
	"flags 0x%x: IBV_REREG_MR_CHANGE_ bits say what changes"
#define WHY_REREG_KIND \
	"rereg_kind", EINVAL, NULL, \
	"the region is imported or of a descriptor: only one that was registered by address can " \
	"change"
#define WHY_REREG_DM "rereg_dm", EOPNOTSUPP, NULL, "a region over device memory cannot change"
#define WHY_REREG_LENGTH \
	"rereg_length", EINVAL, "ibv_rereg_mr(3)", \
	"a new translation needs an address and a length"
#define WHY_REREG_ACCESS \
	"rereg_access", EINVAL, "ibv_rereg_mr(3)", \
	"access is 0x%x, but flags lack IBV_REREG_MR_CHANGE_ACCESS"
#define WHY_ADVISE_LIST "advise_list", EINVAL, "ibv_advise_mr(3)", "the list of elements is empty"
#define WHY_ADVISE_KEY \
	"advise_key", ENOENT, "ibv_advise_mr(3)", \
	"lkey 0x%08x is no key of an on-demand region"
#define WHY_ADVISE_OWNER \
	"advise_owner", EPERM, "ibv_advise_mr(3)", \
	"lkey 0x%08x belongs to another PD or process"
#define WHY_ADVISE_WRITE \
	"advise_write", EPERM, "ibv_advise_mr(3)", \
	"the region of lkey 0x%08x is not writable"
#define WHY_ADVISE_RANGE \
	"advise_range", EFAULT, "ibv_advise_mr(3)", \
	"%u bytes at 0x%" PRIx64 " are not within the region of lkey 0x%08x"
#define WHY_DM_LENGTH \
	"dm_length", EINVAL, NULL, \
	"length %" PRIu64 " is not possible: device memory has %" PRIu64 " bytes"
#define WHY_DM_ALIGN "dm_align", EINVAL, NULL, "log_align_req %u is above 63"
#define WHY_DM_FULL \
	"dm_full", ENOMEM, NULL, \
	"device memory has no free range of %" PRIu64 " bytes with this alignment ('rxe_dm show')"
#define WHY_DM_RANGE \
	"dm_range", EINVAL, NULL, \
	"offset %" PRIu64 " and length %" PRIu64 " are not within the %" PRIu64 " bytes of " \
	"device memory"
#define WHY_DM_WORDS \
	"dm_words", EINVAL, NULL, \
	"offset %" PRIu64 " and length %" PRIu64 " must be multiples of 4"
#define WHY_DM_FREED "dm_freed", EINVAL, NULL, "another process has freed device memory %u"
#define WHY_DM_FAULT "dm_fault", EFAULT, NULL, "the program's %zu bytes at %p are not all mapped"
#define WHY_DM_ZERO_BASED \
	"dm_zero_based", EINVAL, "ibv_reg_dm_mr(3)", \
	"a region over device memory needs IBV_ACCESS_ZERO_BASED"
#define WHY_NO_DMABUF "no_dmabuf", ENODATA, NULL, "no buffer is a dmabuf's"
#define WHY_DMAH_CPU "dmah_cpu", EINVAL, NULL, "cpu_id %u: the machine has %ld processors"
#define WHY_MW_TYPE \
	"mw_type", EINVAL, "ibv_alloc_mw(3)", \
	"type %d is neither IBV_MW_TYPE_1 nor IBV_MW_TYPE_2"
#define WHY_BIND_TYPE "bind_type", EINVAL, "ibv_bind_mw(3)", "a window of type %d is bound by %s"
#define WHY_BIND_RANGE \
	"bind_range", EINVAL, "ibv_bind_mw(3)", \
	"a bind without a region has no address and no length"
#define WHY_BIND_ZERO_BASED \
	"bind_zero_based", EINVAL, "ibv_bind_mw(3)", \
	"a window of type 1 cannot be zero based"

/* Domains. */
#define WHY_ALLOCATORS \
	"allocators", EINVAL, "ibv_alloc_parent_domain(3)", \
	"an allocator needs both alloc and free"
#define WHY_NOT_A_PARENT \
	"not_a_parent", EINVAL, "ibv_create_cq_ex(3)", \
	"parent_domain is not from ibv_alloc_parent_domain()"
#define WHY_XRCD_FLAGS "xrcd_flags", EINVAL, "ibv_open_xrcd(3)", "%s"
#define WHY_XRCD_ABSENT \
	"xrcd_absent", EAGAIN, "ibv_open_xrcd(3)", \
	"the file of descriptor %d has no XRC domain: add O_CREAT to oflags to create one"
#define WHY_XRCD_EXISTS \
	"xrcd_exists", EINVAL, "ibv_open_xrcd(3)", \
	"the file of descriptor %d has an XRC domain already: drop O_EXCL from oflags to open it"

/* Address handles, GIDs. */
#define WHY_NO_GRH "no_grh", EINVAL, "ibv_create_ah(3)", "RoCE requires a GID, but is_global is 0"
#define WHY_SGID_INDEX \
	"sgid_index", EINVAL, NULL, \
	"GID index %u does not exist: the table has %u entries"
#define WHY_NO_DGID "no_dgid", EINVAL, NULL, "the destination GID is zero"
#define WHY_SGID_FAMILY "sgid_family", ENETUNREACH, NULL, "GID index %u is %s ('rxe_dm show')"
#define WHY_WC_NO_GRH \
	"wc_no_grh", EINVAL, "ibv_create_ah_from_wc(3)", \
	"the completion has no IBV_WC_GRH, or its GRH is no IP header"
#define WHY_WC_NO_GID \
	"wc_no_gid", EINVAL, "ibv_create_ah_from_wc(3)", \
	"the datagram's destination is no GID of this device"
#define WHY_GID_EMPTY "gid_empty", ENODATA, "ibv_query_gid_ex(3)", "GID index %u is empty"
#define WHY_GID_SPACE \
	"gid_space", EINVAL, "ibv_query_gid_table(3)", \
	"max_entries %zu is less than the number of GIDs"
#define WHY_NO_NEIGHBOR \
	"no_neighbor", EHOSTUNREACH, NULL, \
	"the machine's neighbor table has no entry for the GID"
#define WHY_NO_PKEY "no_pkey", EINVAL, NULL, "P_Key index %d does not exist: the table has 1 entry"
#define WHY_OTHER_PKEY \
	"other_pkey", EINVAL, NULL, \
	"P_Key 0x%04x is not in the table, which has 0xffff"

/* Completion queues, events. */
#define WHY_COMP_VECTOR \
	"comp_vector", EINVAL, NULL, \
	"comp_vector %d does not exist: the context has %d"
#define WHY_NO_CHANNEL \
	"no_channel", EINVAL, "ibv_req_notify_cq(3)", \
	"CQ %u has no completion channel, so no event can come"
#define WHY_WC_FIELDS \
	"wc_fields", EOPNOTSUPP, "ibv_create_cq_ex(3)", \
	"wc_flags 0x%" PRIx64 " ask for fields that the device does not report"
#define WHY_CQ_HOLDS \
	"cq_holds", EINVAL, "ibv_resize_cq(3)", \
	"%d entries are fewer than the completions in CQ %u"
#define WHY_NUM_ENTRIES "num_entries", EINVAL, "ibv_poll_cq(3)", "num_entries is %d"

/* Queue pairs. */
#define WHY_QP_TYPE \
	"qp_type", EOPNOTSUPP, "ibv_create_qp(3)", \
	"the device has no queue pairs of type %d"
#define WHY_QP_NO_PD \
	"qp_no_pd", EINVAL, "ibv_create_qp_ex(3)", \
	"comp_mask lacks IBV_QP_INIT_ATTR_PD"
#define WHY_QP_NO_XRCD \
	"qp_no_xrcd", EINVAL, "ibv_create_qp_ex(3)", \
	"an XRC target needs IBV_QP_INIT_ATTR_XRCD"
#define WHY_QP_SRQ "qp_srq", EINVAL, "ibv_create_qp(3)", "%s queue pairs cannot use %s"
#define WHY_QP_SEND_OPS \
	"qp_send_ops", EOPNOTSUPP, "ibv_create_qp_ex(3)", \
	"%s queue pairs of this device lack operations 0x%" PRIx64 " of send_ops_flags"
#define WHY_NO_SEND_OPS \
	"no_send_ops", EOPNOTSUPP, "ibv_create_qp_ex(3)", \
	"QP 0x%06x was created without IBV_QP_INIT_ATTR_SEND_OPS_FLAGS"
#define WHY_NO_QPN "no_qpn", ENOMEM, NULL, "the process has no QP number left: max_qp is %u"
#define WHY_RSS_STATES \
	"rss_states", EOPNOTSUPP, NULL, \
	"QP 0x%06x spreads packets (RSS): its work queues have states and attributes"
#define WHY_RATE \
	"rate", EINVAL, "ibv_modify_qp_rate_limit(3)", \
	"max_burst_sz and typical_pkt_sz need a rate_limit"
#define WHY_MOVE "move", EINVAL, "ibv_modify_qp(3)", "QP 0x%06x cannot move from %s to %s"
#define WHY_MOVE_NEEDS \
	"move_needs", EINVAL, "ibv_modify_qp(3)", \
	"QP 0x%06x moves from %s to %s only with %s in the mask"
#define WHY_MOVE_LEAVES \
	"move_leaves", EINVAL, "ibv_modify_qp(3)", \
	"QP 0x%06x does not take %s when it moves from %s to %s, or its type does not have it"
#define WHY_MOVE_VALUE \
	"move_value", EINVAL, "ibv_modify_qp(3)", \
	"QP 0x%06x: the value of %s is out of range"
#define WHY_MOVE_NO_GRH \
	"move_no_grh", EINVAL, NULL, \
	"QP 0x%06x: RoCE requires a GID, but is_global is 0: give the program a GID index (-g 0 " \
	"for the pingpongs, -x 0 for perftest)"
#define WHY_MOVE_GID \
	"move_gid", EINVAL, NULL, \
	"QP 0x%06x: sgid_index %u is empty, or dgid is unusable or of the other address family " \
	"('rxe_dm show' lists the GIDs)"
#define WHY_MOVE_RESIZE "move_resize", EOPNOTSUPP, NULL, "QP 0x%06x cannot be resized (IBV_QP_CAP)"
#define WHY_MOVE_DRAINING \
	"move_draining", EBUSY, "ibv_modify_qp(3)", \
	"the send queue of QP 0x%06x has not drained yet: wait for IBV_EVENT_SQ_DRAINED"
#define WHY_MCAST_TYPE "mcast_type", EINVAL, "ibv_attach_mcast(3)", "QP 0x%06x is not UD"
#define WHY_MCAST_GROUP "mcast_group", EINVAL, "ibv_attach_mcast(3)", "the GID is no multicast GID"
#define WHY_MCAST_ABSENT \
	"mcast_absent", EINVAL, "ibv_attach_mcast(3)", \
	"QP 0x%06x is not attached to this group"
#define WHY_MCAST_FULL \
	"mcast_full", ENOMEM, "ibv_query_device(3)", \
	"no place is left: a device has max_mcast_grp groups, each with max_mcast_qp_attach " \
	"queue pairs"
#define WHY_MCAST_JOIN(error) "mcast_join", error, NULL, "the link cannot join the group: %s"
#define WHY_MCAST_ATTACHED \
	"mcast_attached", EBUSY, "ibv_attach_mcast(3)", \
	"QP 0x%06x is attached to a multicast group: call ibv_detach_mcast() first"
#define WHY_OPEN_QP \
	"open_qp", EINVAL, "ibv_open_qp(3)", \
	"comp_mask 0x%x and type %d: NUM, XRCD and TYPE are needed, and IBV_QPT_XRC_RECV"
#define WHY_OPEN_NO_QP(error) \
	"open_no_qp", error, "ibv_open_qp(3)", \
	"the XRC domain has no QP 0x%06x"
#define WHY_TARGET(error) \
	"target", error, "ibv_open_qp(3)", \
	"the process of QP 0x%06x does not answer: %s"
#define WHY_CNTR_STATE \
	"cntr_state", EINVAL, "ibv_qp_attach_comp_cntr(3)", \
	"QP 0x%06x is in %s: counters are attached in RESET or INIT"
#define WHY_CNTR_TAKEN \
	"cntr_taken", EINVAL, "ibv_qp_attach_comp_cntr(3)", \
	"an operation of QP 0x%06x in op_mask 0x%x has a counter already"
#define WHY_RAW(error) \
	"raw", error, NULL, \
	"raw packets on %s need CAP_NET_RAW%s: run the program as root, or give it the " \
	"capability with setcap(8)"
#define WHY_RAW_PORT(error) "raw_port", error, NULL, "the raw port of %s cannot be opened: %s"

/* Posted requests. */
#define WHY_SEND_STATE \
	"send_state", EINVAL, "ibv_post_send(3)", \
	"QP 0x%06x is in %s: requests can be posted from RTS on"
#define WHY_SEND_FULL \
	"send_full", ENOMEM, "ibv_post_send(3)", \
	"the send queue of QP 0x%06x is full: %u of at most %u requests are outstanding, %u of " \
	"them unsignalled: poll the completion of a signalled one"
#define WHY_SEND_SRQ \
	"send_srq", ENOMEM, NULL, \
	"QP 0x%06x was created with max_send_wr 0: its SRQ matches tags and uses the send queue"
#define WHY_SEND_OPCODE \
	"send_opcode", EINVAL, "ibv_post_send(3)", \
	"%s QP 0x%06x has no operation %s (%u)"
#define WHY_SEND_OFFER \
	"send_offer", EOPNOTSUPP, NULL, \
	"the device does not offer %s ('rxe_dm show --limits')"
#define WHY_SEND_SGES \
	"send_sges", EINVAL, "ibv_create_qp(3)", \
	"num_sge %u is above the max_send_sge %u of QP 0x%06x"
#define WHY_SEND_READ_SGES \
	"send_read_sges", EINVAL, "ibv_query_device(3)", \
	"num_sge %u of a READ is above the device's max_sge_rd %u"
#define WHY_SEND_NO_LIST "send_no_list", EINVAL, NULL, "sg_list is NULL, but num_sge is %u"
#define WHY_SEND_INLINE \
	"send_inline", EINVAL, "ibv_create_qp(3)", \
	"%" PRIu64 " inline bytes are above the max_inline_data %u of QP 0x%06x"
#define WHY_SEND_EIGHT "send_eight", EINVAL, NULL, "%s works on 8 bytes, but the list has %" PRIu64
#define WHY_SEND_FLUSH \
	"send_flush", EINVAL, NULL, \
	"a FLUSH has no list, and a range of at most %u bytes"
#define WHY_SEND_LENGTH \
	"send_length", EINVAL, "ibv_query_port(3)", \
	"%" PRIu64 " bytes are not possible: a message has at most %" PRIu64 "%s"
#define WHY_SEND_FLAGS "send_flags", EINVAL, "ibv_post_send(3)", "%s does not take send_flags 0x%x"
#define WHY_SEND_NO_AH \
	"send_no_ah", EINVAL, "ibv_post_send(3)", \
	"QP 0x%06x is UD, and the request has no address handle"
#define WHY_SEND_AH \
	"send_ah", EINVAL, NULL, \
	"GID index %u of the address handle is not usable any more"
#define WHY_SEND_SRQN "send_srqn", EINVAL, NULL, "remote_srqn 0x%x has more than 24 bits"
#define WHY_RECV_STATE \
	"recv_state", EINVAL, "ibv_post_recv(3)", \
	"QP 0x%06x is in RESET: receives can be posted from INIT on"
#define WHY_RECV_FULL \
	"recv_full", ENOMEM, "ibv_post_recv(3)", \
	"the receive queue of %s is full: %u receives are outstanding"
#define WHY_RECV_SGES \
	"recv_sges", EINVAL, NULL, \
	"num_sge %u is above the max_sge %u of the receive queue of %s, or sg_list is NULL"
#define WHY_RECV_SRQ \
	"recv_srq", EINVAL, "ibv_post_srq_recv(3)", \
	"QP 0x%06x receives by an SRQ: post to the SRQ"
#define WHY_RECV_NONE \
	"recv_none", EINVAL, NULL, \
	"QP 0x%06x is an XRC or RSS queue pair, which has no receive queue"
#define WHY_NOT_STARTED \
	"not_started", EINVAL, "ibv_wr_post(3)", \
	"QP 0x%06x: ibv_wr_start() was not called"
#define WHY_NO_REQUEST \
	"no_request", EINVAL, "ibv_wr_post(3)", \
	"QP 0x%06x: a setter was called before any request was begun"
#define WHY_TSO "tso", EOPNOTSUPP, NULL, "the device does not segment TCP (ibv_wr_send_tso())"

/* Shared receive queues, work queues, flows. */
#define WHY_SRQ_LIMIT \
	"srq_limit", EINVAL, "ibv_modify_srq(3)", \
	"srq_limit %u is above the SRQ's max_wr %u"
#define WHY_SRQ_HOLDS \
	"srq_holds", EINVAL, "ibv_modify_srq(3)", \
	"max_wr %u is less than the receives in the SRQ, or than its armed limit"
#define WHY_SRQ_NUMBER \
	"srq_number", EOPNOTSUPP, "ibv_get_srq_num(3)", \
	"only XRC addresses SRQs by number, and this SRQ is of another type"
#define WHY_NO_SRQN "no_srqn", ENOMEM, NULL, "the process has no XRC SRQ number left: max_srq is %u"
#define WHY_SRQ_TAGS \
	"srq_tags", EINVAL, "ibv_post_srq_ops(3)", \
	"the SRQ matches no tags: create it with IBV_SRQT_TM"
#define WHY_TAG_RANGE "tag_range", EINVAL, "ibv_create_srq_ex(3)", "%s %u is not within 1 and %u"
#define WHY_TAG_OP "tag_op", EINVAL, "ibv_post_srq_ops(3)", "opcode %u or flags 0x%x are unknown"
#define WHY_TAG_FULL \
	"tag_full", ENOMEM, "ibv_post_srq_ops(3)", \
	"the SRQ's list of tags is full: max_num_tags is %u"
#define WHY_TAG_BUFFER \
	"tag_buffer", EINVAL, "ibv_post_srq_ops(3)", \
	"the operation is not possible: too many elements, or no such handle"
#define WHY_WQ_TYPE "wq_type", EOPNOTSUPP, "ibv_create_wq(3)", "wq_type %d is not IBV_WQT_RQ"
#define WHY_WQ_STATE "wq_state", EINVAL, "ibv_modify_wq(3)", "WQ 0x%06x %s"
#define WHY_RSS_INIT \
	"rss_init", EINVAL, "ibv_create_qp_ex(3)", \
	"an RSS queue pair needs RX_HASH, IND_TABLE and PD, no SRQ and no receive queue"
#define WHY_RSS_SENDS \
	"rss_sends", EOPNOTSUPP, "ibv_create_qp_ex(3)", \
	"an RSS queue pair has no send queue and no create_flags"
#define WHY_RSS_HASH \
	"rss_hash", EOPNOTSUPP, "ibv_query_device_ex(3)", \
	"hash function %u or fields 0x%" PRIx64 " are not offered"
#define WHY_RSS_KEY "rss_key", EINVAL, "ibv_create_qp_ex(3)", "rx_hash_key has %u bytes, not %u"
#define WHY_FLOW_SPEC \
	"flow_spec", EINVAL, "ibv_create_flow(3)", \
	"specification of type 0x%x and size %u: %s"
#define WHY_FLOW_ACTION "flow_action", EOPNOTSUPP, NULL, "the device has no actions by handle"
#define WHY_FLOW_COUNTERS \
	"flow_counters", EINVAL, "ibv_create_flow(3)", \
	"a flow takes one live counters object of its device"
#define WHY_FLOW_TYPE \
	"flow_type", EINVAL, "ibv_create_flow(3)", \
	"a flow of type %d has no specifications and no IBV_FLOW_ATTR_FLAGS_DONT_TRAP"
#define WHY_FLOW_EGRESS \
	"flow_egress", EOPNOTSUPP, NULL, \
	"the device has no flows for packets that leave"
#define WHY_FLOW_UD \
	"flow_ud", EOPNOTSUPP, "ibv_create_flow(3)", \
	"QP 0x%06x is UD: flows need a RAW_PACKET queue pair"
#define WHY_FLOW_QP \
	"flow_qp", EINVAL, "ibv_create_flow(3)", \
	"QP 0x%06x takes no packets: flows need a RAW_PACKET queue pair"
#define WHY_COUNTER_DESC \
	"counter_desc", ENOTSUP, "ibv_create_counters(3)", \
	"counter_desc %u is neither packets nor bytes"
#define WHY_COUNTERS_BOUND \
	"counters_bound", EBUSY, "ibv_create_counters(3)", \
	"the counters belong to a flow already: attach points before"
#define WHY_COUNTERS_FULL \
	"counters_full", ENOMEM, "ibv_create_counters(3)", \
	"the counters have %u points, the most that are possible"
#define WHY_COUNTERS_SPACE \
	"counters_space", EINVAL, "ibv_create_counters(3)", \
	"a point has index %u, but ncounters is %u"

/* mlx5. */
#define WHY_NOT_MLX5 "not_mlx5", EOPNOTSUPP, NULL, "the instance was started without '--mlx5 on'"
#define WHY_UMEM_PAGES \
	"umem_pages", EINVAL, NULL, \
	"pgsz_bitmap 0x%" PRIx64 " has no page size of at most %" PRIu64 " bytes"
#define WHY_UMEM_EXPORT \
	"umem_export", EINVAL, NULL, \
	"the data is not from mlx5dv_devx_umem_export()"
#define WHY_PRM_SHORT "prm_short", EINVAL, NULL, "%s has only %zu bytes"
#define WHY_PRM_OPCODE \
	"prm_opcode", EOPNOTSUPP, NULL, \
	"command 0x%x is none of the device's: CREATE_MKEY is"
#define WHY_PRM_MKEY \
	"prm_mkey", EOPNOTSUPP, NULL, \
	"a memory key must be a plain translation of a umem for all queue pairs"
#define WHY_UMEM_READ_ONLY \
	"umem_read_only", EINVAL, NULL, \
	"a key that permits writes needs a umem with IBV_ACCESS_LOCAL_WRITE"
#define WHY_NO_UMEM "no_umem", EINVAL, NULL, "the context has no umem %u"
/* librdmacm. */
#define WHY_CM_NO_SERVER \
	"cm_no_server", ENODEV, NULL, \
	"there is no device, or its server does not answer ('rxe_dm show')"
#define WHY_CM_NO_DEVICE \
	"cm_no_device", EINVAL, "rdma_resolve_addr(3)", \
	"the id has no device yet: bind it to an address, or resolve one"
#define WHY_CM_LOST_DEVICE \
	"cm_lost_device", ENODEV, NULL, \
	"the id's device cannot be opened ('rxe_dm show')"
#define WHY_CM_NO_QP \
	"cm_no_qp", EINVAL, "rdma_connect(3)", \
	"the id has no queue pair, and conn_param, which would have its number, is NULL"
#define WHY_CM_HAS_QP "cm_has_qp", EINVAL, NULL, "the id has QP 0x%06x"
#define WHY_CM_HAS_SRQ "cm_has_srq", EINVAL, NULL, "the id has an SRQ already"
#define WHY_CM_OTHER_CQ \
	"cm_other_cq", EINVAL, "rdma_create_qp(3)", \
	"the id has another CQ than the attributes name"
#define WHY_CM_AF_IB \
	"cm_af_ib", ENODEV, NULL, \
	"no device has a native InfiniBand address (AF_IB): RoCE uses IP addresses"
#define WHY_CM_FAMILY "cm_family", EINVAL, NULL, "address family %d is neither AF_INET nor AF_INET6"
#define WHY_CM_PRIVATE \
	"cm_private", EINVAL, "rdma_connect(3)", \
	"%zu bytes of private data are more than the 255 that one byte can count"
#define WHY_CM_STATE(manual) "cm_state", EINVAL, manual, "%s ('rxe_dm show' has the id's state)"
#define WHY_CM_NO_WAY \
	"cm_no_way", ENODEV, NULL, \
	"no device has or reaches the address, or the device server has exited ('rxe_dm show')"
#define WHY_CM_IN_USE \
	"cm_in_use", EADDRINUSE, "rdma_bind_addr(3)", \
	"another id has the port at this address ('rxe_dm show' lists listeners)"
#define WHY_CM_NO_ADDRESS \
	"cm_no_address", EADDRNOTAVAIL, "rdma_bind_addr(3)", \
	"no device has the address ('rxe_dm show' lists the addresses)"
#define WHY_CM_SERVER(error) "cm_server", error, NULL, "the connection manager refuses it: %s"
#define WHY_CM_EVENT(error) \
	"cm_event", error, "rdma_get_cm_event(3)", \
	"the call ends with event %s, status %d"
#define WHY_CM_NOT_SYNC \
	"cm_not_sync", EINVAL, "rdma_get_request(3)", \
	"the listener has an event channel, which has its requests: use rdma_get_cm_event()"
#define WHY_CM_IS_SYNC \
	"cm_is_sync", EINVAL, "rdma_migrate_id(3)", \
	"the id has a channel of its own already, and channel is NULL"
#define WHY_CM_OWN_EVENT \
	"cm_own_event", EINVAL, "rdma_write_cm_event(3)", \
	"a program may write RDMA_CM_EVENT_USER, not %s"
#define WHY_CM_NO_NAMES \
	"cm_no_names", EINVAL, "rdma_getaddrinfo(3)", \
	"node, service and hints are NULL"
#define WHY_CM_NO_SA \
	"cm_no_sa", EOPNOTSUPP, NULL, \
	"RAI_SA: an Ethernet network has no subnet administrator"
#define WHY_CM_NAME "cm_name", ENOENT, "rdma_getaddrinfo(3)", "the name is not resolved: %s"
#define WHY_CM_RESOLVING \
	"cm_resolving", EBUSY, "rdma_resolve_addrinfo(3)", \
	"another resolution of this id is under way, or its answer was not asked for"
#define WHY_CM_NOT_RESOLVED \
	"cm_not_resolved", ENOENT, "rdma_query_addrinfo(3)", \
	"the id has no resolved addresses"
#define WHY_CM_GROUP \
	"cm_group", EINVAL, "rdma_join_multicast(3)", \
	"the address names no multicast group"
#define WHY_CM_NO_MEMBER \
	"cm_no_member", EADDRNOTAVAIL, "rdma_leave_multicast(3)", \
	"the id has not joined this group"
#define WHY_CM_JOIN_BITS(error) \
	"cm_join_bits", error, "rdma_join_multicast_ex(3)", \
	"comp_mask 0x%x or join_flags 0x%x: ADDRESS and JOIN_FLAGS are needed"
#define WHY_CM_OPTION_LEN "cm_option_len", EINVAL, "rdma_set_option(3)", "no option has %zu bytes"
#define WHY_CM_VENDOR \
	"cm_vendor", EINVAL, NULL, \
	"the peer's ECE options are of another vendor, 0x%x"
#define WHY_CM_ECE \
	"cm_ece", EINVAL, NULL, \
	"ECE options need an id without queue pair, a vendor, and no comp_mask"
#define WHY_CM_VERB(error) "cm_verb", error, NULL, "%s was refused"
/* clang-format on */

#endif
