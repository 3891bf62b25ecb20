/* SPDX-License-Identifier: MIT */
/* Messages of the communication manager (IBTA vol. 1, 12.6): MADs of 256 bytes <-> one host-order
 * struct, and the private header of IP addressing (annex A11).
 *
 * cm.c holds one table for each message, drawn to be read against the standard. Parsing accepts
 * any value of any field: what a value means is checked by the reader of the struct. Emitting a
 * parsed MAD gives the same bytes, except reserved fields (sent as 0, ignored on arrival). Fields
 * of the Enhanced Connection Establishment (vendor_id, ece_options) are where Linux has them: in
 * fields that were reserved, and in the header's attribute modifier. */
#ifndef RXE_WIRE_CM_MSG_H
#define RXE_WIRE_CM_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

/* Every message is a management datagram (13.4.2): a header, then the message's own fields. */
#define CM_MAD_BYTES	 256u
#define MAD_HEADER_BYTES 24u
#define MAD_BASE_VERSION 1u
#define MAD_CLASS_CM	 0x07u
#define CM_CLASS_VERSION 2u
#define MAD_METHOD_SEND	 0x03u

/* The general service interface: QP 1 and its Q_Key (10.2.4.2). */
#define MAD_GSI_QPN  1u
#define MAD_GSI_QKEY 0x80010000u

/* Attribute IDs, 12.6.1 and 12.11.1. */
enum cm_attr {
	CM_REQ = 0x10,
	CM_MRA = 0x11,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
	CM_SIDR_REQ = 0x17,
	CM_SIDR_REP = 0x18,
	CM_LAP = 0x19,
	CM_APR = 0x1a,
};

/* Bytes of private data, and of additional information. */
#define CM_REQ_PRIVATE	    92u
#define CM_MRA_PRIVATE	    222u
#define CM_REJ_PRIVATE	    148u
#define CM_REP_PRIVATE	    196u
#define CM_RTU_PRIVATE	    224u
#define CM_DREQ_PRIVATE	    220u
#define CM_DREP_PRIVATE	    224u
#define CM_SIDR_REQ_PRIVATE 216u
#define CM_SIDR_REP_PRIVATE 136u
#define CM_LAP_PRIVATE	    168u
#define CM_APR_PRIVATE	    148u
#define CM_MAX_PRIVATE	    224u
#define CM_REJ_ARI	    72u
#define CM_APR_INFO	    72u
#define CM_SIDR_REP_INFO    72u

/* REQ: transport service type. */
enum cm_transport {
	CM_TRANSPORT_RC = 0,
	CM_TRANSPORT_UC = 1,
	CM_TRANSPORT_RD = 2,
	CM_TRANSPORT_EXTENDED = 3, /* extended_transport says which */
};
#define CM_TRANSPORT_EXTENDED_XRC 1u

/* 12.6.7.2. */
enum cm_reject_reason {
	CM_REJ_NO_QP = 1,
	CM_REJ_NO_EEC = 2,
	CM_REJ_NO_RESOURCES = 3,
	CM_REJ_TIMEOUT = 4,
	CM_REJ_UNSUPPORTED = 5,
	CM_REJ_INVALID_COMM_ID = 6,
	CM_REJ_INVALID_COMM_INSTANCE = 7,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_INVALID_TRANSPORT_TYPE = 9,
	CM_REJ_STALE_CONNECTION = 10,
	CM_REJ_RDC_NOT_EXIST = 11,
	CM_REJ_INVALID_GID = 12,
	CM_REJ_INVALID_LID = 13,
	CM_REJ_INVALID_SL = 14,
	CM_REJ_INVALID_TRAFFIC_CLASS = 15,
	CM_REJ_INVALID_HOP_LIMIT = 16,
	CM_REJ_INVALID_PACKET_RATE = 17,
	CM_REJ_INVALID_ALT_GID = 18,
	CM_REJ_INVALID_ALT_LID = 19,
	CM_REJ_INVALID_ALT_SL = 20,
	CM_REJ_INVALID_ALT_TRAFFIC_CLASS = 21,
	CM_REJ_INVALID_ALT_HOP_LIMIT = 22,
	CM_REJ_INVALID_ALT_PACKET_RATE = 23,
	CM_REJ_PORT_CM_REDIRECT = 24,
	CM_REJ_PORT_REDIRECT = 25,
	CM_REJ_INVALID_MTU = 26,
	CM_REJ_INSUFFICIENT_RESP_RESOURCES = 27,
	CM_REJ_CONSUMER_DEFINED = 28,
	CM_REJ_INVALID_RNR_RETRY = 29,
	CM_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
	CM_REJ_INVALID_CLASS_VERSION = 31,
	CM_REJ_INVALID_FLOW_LABEL = 32,
	CM_REJ_INVALID_ALT_FLOW_LABEL = 33,
	CM_REJ_VENDOR_OPTION_UNSUPPORTED = 35,
};

/* What an MRA or a REJ answers: message_mraed, message_rejected. */
enum cm_answered {
	CM_ANSWERED_REQ = 0,
	CM_ANSWERED_REP = 1,
	CM_ANSWERED_OTHER = 2, /* MRA: a LAP. REJ: no message */
};

/* 12.11.2. */
enum cm_sidr_status {
	CM_SIDR_SUCCESS = 0,
	CM_SIDR_UNSUPPORTED = 1,
	CM_SIDR_REJECTED = 2,
	CM_SIDR_NO_QP = 3,
	CM_SIDR_REDIRECTED = 4,
	CM_SIDR_UNSUPPORTED_VERSION = 5,
};

/* 12.8.2. */
enum cm_apr_status {
	CM_APR_SUCCESS = 0,
	CM_APR_INVALID_COMM_ID = 1,
	CM_APR_UNSUPPORTED = 2,
	CM_APR_REJECTED = 3,
};

/* A LID that says nothing (RoCE has none). */
#define CM_LID_PERMISSIVE 0xffffu

/* One path of a REQ or LAP, as its sender sees it. */
struct cm_path_record {
	uint16_t local_lid, remote_lid;
	struct gid local_gid, remote_gid;
	uint32_t flow_label; /* 20 bits */
	uint8_t packet_rate;
	uint8_t traffic_class, hop_limit, sl;
	bool subnet_local;
	uint8_t ack_timeout; /* 4.096 us << value */
};

struct cm_req {
	uint32_t vendor_id; /* 24 bits; 0: no ECE */
	uint64_t service_id, local_ca_guid;
	uint32_t local_qkey, local_qpn, local_eecn, remote_eecn;
	uint32_t starting_psn;
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_cm_timeout, local_cm_timeout; /* 4.096 us << value */
	uint8_t transport;			     /* enum cm_transport */
	uint8_t extended_transport;
	bool flow_control;
	uint8_t retry_count, rnr_retry_count, max_cm_retries;
	uint16_t pkey;
	uint8_t path_mtu; /* enum ibv_mtu */
	bool rdc_exists, srq, sap_supported;
	struct cm_path_record primary;
	struct cm_path_record alternate; /* all zeros: none */
};

struct cm_mra {
	uint8_t message_mraed;	 /* enum cm_answered */
	uint8_t service_timeout; /* 4.096 us << value */
};

struct cm_rej {
	uint8_t message_rejected; /* enum cm_answered */
	uint8_t ari_len;	  /* off the wire: up to 127, whatever ari holds */
	uint16_t reason;	  /* enum cm_reject_reason */
	uint8_t ari[CM_REJ_ARI];
};

struct cm_rep {
	uint32_t vendor_id; /* 24 bits; 0: no ECE */
	uint32_t local_qkey, local_qpn, local_eecn, starting_psn;
	uint8_t responder_resources, initiator_depth;
	uint8_t target_ack_delay; /* 4.096 us << value */
	uint8_t failover_accepted;
	bool flow_control;
	uint8_t rnr_retry_count;
	bool srq;
	uint64_t local_ca_guid;
};

struct cm_dreq {
	uint32_t remote_qpn;
};

struct cm_lap {
	uint32_t remote_qpn;
	uint8_t remote_cm_timeout;
	struct cm_path_record alternate;
};

struct cm_apr {
	uint8_t info_len;
	uint8_t status; /* enum cm_apr_status */
	uint8_t info[CM_APR_INFO];
};

struct cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
};

struct cm_sidr_rep {
	uint32_t request_id;
	uint8_t status;	  /* enum cm_sidr_status */
	uint8_t info_len; /* off the wire: up to 255, whatever info holds */
	uint32_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint32_t vendor_id; /* 24 bits; 0: no ECE */
	uint8_t info[CM_SIDR_REP_INFO];
};

struct cm_msg {
	enum cm_attr attr;
	uint64_t tid;
	uint32_t ece_options; /* the header's attribute modifier: REQ, REP and SIDR_REP */
	/* The sender's, and the receiver's as the sender knows it; 0 where the message has none. */
	uint32_t local_comm_id, remote_comm_id;
	union {
		struct cm_req req;
		struct cm_mra mra;
		struct cm_rej rej;
		struct cm_rep rep;
		struct cm_dreq dreq;
		struct cm_lap lap;
		struct cm_apr apr;
		struct cm_sidr_req sidr_req;
		struct cm_sidr_rep sidr_rep;
	} u;
	/* To emit: at most cm_private_max(); the rest is sent as 0. Parsed: the message's whole
	 * field. */
	uint8_t private_len;
	uint8_t private_data[CM_MAX_PRIVATE];
};

/* Writes *ret unless the MAD is none of the CM's: base version, class, class version, method Send,
 * or an attribute that is not in enum cm_attr. */
bool cm_msg_parse(struct cm_msg *ret, const uint8_t mad[static CM_MAD_BYTES]);
/* attr must be one of enum cm_attr. Values wider than their field lose their high bits. */
void cm_msg_emit(uint8_t ret_mad[static CM_MAD_BYTES], const struct cm_msg *msg);

/* Bytes of private data that a message can carry. */
uint8_t cm_private_max(enum cm_attr attr);
/* "REQ", "REP", ...; "?" for others. Static storage. */
const char *cm_attr_str(enum cm_attr attr);

/* The private header of annex A11: the first bytes of the private data of a REQ or SIDR_REQ. */
#define CM_IP_HEADER_BYTES 36u

struct cm_ip_header {
	uint8_t cma_version; /* 0 */
	uint8_t ip_version;  /* 4 or 6 */
	uint16_t src_port;
	/* IPv4 as ::ffff:a.b.c.d here; on the wire, 12 zeros and the address. */
	struct gid src, dst;
};

/* False: neither IPv4 nor IPv6. cma_version may be any. */
bool cm_ip_header_parse(struct cm_ip_header *ret, const uint8_t p[static CM_IP_HEADER_BYTES]);
void cm_ip_header_emit(uint8_t p[static CM_IP_HEADER_BYTES], const struct cm_ip_header *header);

/* Service ID of an IP port (A11): the port space is the prefix 0x0000000001 and the IP protocol,
 * as in Linux's RDMA_PS_TCP (0x0106), RDMA_PS_UDP (0x0111) and others. */
static inline uint64_t cm_ip_service_id(uint16_t port_space, uint16_t port)
{
	return (uint64_t)port_space << 16 | port;
}

#endif
