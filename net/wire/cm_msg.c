/* SPDX-License-Identifier: MIT */
/* Messages of the communication manager: tables of their fields, and what walks them. */
#include "net/wire/cm_msg.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "net/wire/packet.h"

/* A field of a message. Up to 64 bits wide, it is a number in a member of `size` bytes; wider,
 * bytes. */
struct field {
	uint16_t byte;	/* after the MAD header, as the standard counts */
	uint8_t bit;	/* in that byte, from its most significant */
	uint16_t width; /* bits */
	uint16_t at;	/* of the member in struct cm_msg */
	uint8_t size;	/* of the member, in bytes */
	uint8_t low;	/* the member's bit where the field's least significant one goes */
};

#define PART(byte, bit, width, member, low)                                                        \
	{                                                                                          \
		byte, bit, width, offsetof(struct cm_msg, member),                                 \
			sizeof(((struct cm_msg *)NULL)->member), low                               \
	}
#define FIELD(byte, bit, width, member) PART(byte, bit, width, member, 0)

/* clang-format off */

/*	byte bit width  field							12.6.5 */
static const struct field req_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  5, 0,  24, u.req.vendor_id),		/* reserved in IBTA 1.4: ECE */
	FIELD(  8, 0,  64, u.req.service_id),
	FIELD( 16, 0,  64, u.req.local_ca_guid),
	FIELD( 28, 0,  32, u.req.local_qkey),
	FIELD( 32, 0,  24, u.req.local_qpn),
	FIELD( 35, 0,   8, u.req.responder_resources),
	FIELD( 36, 0,  24, u.req.local_eecn),
	FIELD( 39, 0,   8, u.req.initiator_depth),
	FIELD( 40, 0,  24, u.req.remote_eecn),
	FIELD( 43, 0,   5, u.req.remote_cm_timeout),
	FIELD( 43, 5,   2, u.req.transport),
	FIELD( 43, 7,   1, u.req.flow_control),
	FIELD( 44, 0,  24, u.req.starting_psn),
	FIELD( 47, 0,   5, u.req.local_cm_timeout),
	FIELD( 47, 5,   3, u.req.retry_count),
	FIELD( 48, 0,  16, u.req.pkey),
	FIELD( 50, 0,   4, u.req.path_mtu),
	FIELD( 50, 4,   1, u.req.rdc_exists),
	FIELD( 50, 5,   3, u.req.rnr_retry_count),
	FIELD( 51, 0,   4, u.req.max_cm_retries),
	FIELD( 51, 4,   1, u.req.srq),
	FIELD( 51, 5,   3, u.req.extended_transport),
	FIELD( 52, 0,  16, u.req.primary.local_lid),
	FIELD( 54, 0,  16, u.req.primary.remote_lid),
	FIELD( 56, 0, 128, u.req.primary.local_gid),
	FIELD( 72, 0, 128, u.req.primary.remote_gid),
	FIELD( 88, 0,  20, u.req.primary.flow_label),
	FIELD( 91, 2,   6, u.req.primary.packet_rate),
	FIELD( 92, 0,   8, u.req.primary.traffic_class),
	FIELD( 93, 0,   8, u.req.primary.hop_limit),
	FIELD( 94, 0,   4, u.req.primary.sl),
	FIELD( 94, 4,   1, u.req.primary.subnet_local),
	FIELD( 95, 0,   5, u.req.primary.ack_timeout),
	FIELD( 96, 0,  16, u.req.alternate.local_lid),
	FIELD( 98, 0,  16, u.req.alternate.remote_lid),
	FIELD(100, 0, 128, u.req.alternate.local_gid),
	FIELD(116, 0, 128, u.req.alternate.remote_gid),
	FIELD(132, 0,  20, u.req.alternate.flow_label),
	FIELD(135, 2,   6, u.req.alternate.packet_rate),
	FIELD(136, 0,   8, u.req.alternate.traffic_class),
	FIELD(137, 0,   8, u.req.alternate.hop_limit),
	FIELD(138, 0,   4, u.req.alternate.sl),
	FIELD(138, 4,   1, u.req.alternate.subnet_local),
	FIELD(139, 0,   5, u.req.alternate.ack_timeout),
	FIELD(139, 5,   1, u.req.sap_supported),
};

/*	byte bit width  field							12.6.6 */
static const struct field mra_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
	FIELD(  8, 0,   2, u.mra.message_mraed),
	FIELD(  9, 0,   5, u.mra.service_timeout),
};

/*	byte bit width  field							12.6.7 */
static const struct field rej_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
	FIELD(  8, 0,   2, u.rej.message_rejected),
	FIELD(  9, 0,   7, u.rej.ari_len),
	FIELD( 10, 0,  16, u.rej.reason),
	FIELD( 12, 0, 576, u.rej.ari),
};

/*	byte bit width  field							12.6.8 */
static const struct field rep_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
	FIELD(  8, 0,  32, u.rep.local_qkey),
	FIELD( 12, 0,  24, u.rep.local_qpn),
	PART(  15, 0,   8, u.rep.vendor_id, 16),	/* reserved in IBTA 1.4: ECE */
	FIELD( 16, 0,  24, u.rep.local_eecn),
	PART(  19, 0,   8, u.rep.vendor_id, 8),
	FIELD( 20, 0,  24, u.rep.starting_psn),
	PART(  23, 0,   8, u.rep.vendor_id, 0),
	FIELD( 24, 0,   8, u.rep.responder_resources),
	FIELD( 25, 0,   8, u.rep.initiator_depth),
	FIELD( 26, 0,   5, u.rep.target_ack_delay),
	FIELD( 26, 5,   2, u.rep.failover_accepted),
	FIELD( 26, 7,   1, u.rep.flow_control),
	FIELD( 27, 0,   3, u.rep.rnr_retry_count),
	FIELD( 27, 3,   1, u.rep.srq),
	FIELD( 28, 0,  64, u.rep.local_ca_guid),
};

/*	byte bit width  field					12.6.9; DREP: 12.6.11 */
static const struct field rtu_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
};

/*	byte bit width  field							12.6.10 */
static const struct field dreq_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
	FIELD(  8, 0,  24, u.dreq.remote_qpn),
};

/*	byte bit width  field							12.8.1 */
static const struct field lap_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
	FIELD( 12, 0,  24, u.lap.remote_qpn),
	FIELD( 15, 0,   5, u.lap.remote_cm_timeout),
	FIELD( 20, 0,  16, u.lap.alternate.local_lid),
	FIELD( 22, 0,  16, u.lap.alternate.remote_lid),
	FIELD( 24, 0, 128, u.lap.alternate.local_gid),
	FIELD( 40, 0, 128, u.lap.alternate.remote_gid),
	FIELD( 56, 0,  20, u.lap.alternate.flow_label),
	FIELD( 59, 0,   8, u.lap.alternate.traffic_class),
	FIELD( 60, 0,   8, u.lap.alternate.hop_limit),
	FIELD( 61, 2,   6, u.lap.alternate.packet_rate),
	FIELD( 62, 0,   4, u.lap.alternate.sl),
	FIELD( 62, 4,   1, u.lap.alternate.subnet_local),
	FIELD( 63, 0,   5, u.lap.alternate.ack_timeout),
};

/*	byte bit width  field							12.8.2 */
static const struct field apr_fields[] = {
	FIELD(  0, 0,  32, local_comm_id),
	FIELD(  4, 0,  32, remote_comm_id),
	FIELD(  8, 0,   8, u.apr.info_len),
	FIELD(  9, 0,   8, u.apr.status),
	FIELD( 12, 0, 576, u.apr.info),
};

/*	byte bit width  field							12.11.1 */
static const struct field sidr_req_fields[] = {
	FIELD(  0, 0,  32, u.sidr_req.request_id),
	FIELD(  4, 0,  16, u.sidr_req.pkey),
	FIELD(  8, 0,  64, u.sidr_req.service_id),
};

/*	byte bit width  field							12.11.2 */
static const struct field sidr_rep_fields[] = {
	FIELD(  0, 0,  32, u.sidr_rep.request_id),
	FIELD(  4, 0,   8, u.sidr_rep.status),
	FIELD(  5, 0,   8, u.sidr_rep.info_len),
	PART(   6, 0,  16, u.sidr_rep.vendor_id, 8),	/* reserved in IBTA 1.4: ECE */
	FIELD(  8, 0,  24, u.sidr_rep.qpn),
	PART(  11, 0,   8, u.sidr_rep.vendor_id, 0),
	FIELD( 12, 0,  64, u.sidr_rep.service_id),
	FIELD( 20, 0,  32, u.sidr_rep.qkey),
	FIELD( 24, 0, 576, u.sidr_rep.info),
};

#define FIELDS(fields) fields, sizeof(fields) / sizeof(fields[0])

static const struct layout {
	const char *name;
	const struct field *fields;
	size_t num_fields;
	uint8_t private_at, private_len; /* bytes after the MAD header */
} layouts[] = {
	[CM_REQ - CM_REQ]	= { "REQ",	FIELDS(req_fields),	 140, CM_REQ_PRIVATE },
	[CM_MRA - CM_REQ]	= { "MRA",	FIELDS(mra_fields),	  10, CM_MRA_PRIVATE },
	[CM_REJ - CM_REQ]	= { "REJ",	FIELDS(rej_fields),	  84, CM_REJ_PRIVATE },
	[CM_REP - CM_REQ]	= { "REP",	FIELDS(rep_fields),	  36, CM_REP_PRIVATE },
	[CM_RTU - CM_REQ]	= { "RTU",	FIELDS(rtu_fields),	   8, CM_RTU_PRIVATE },
	[CM_DREQ - CM_REQ]	= { "DREQ",	FIELDS(dreq_fields),	  12, CM_DREQ_PRIVATE },
	[CM_DREP - CM_REQ]	= { "DREP",	FIELDS(rtu_fields),	   8, CM_DREP_PRIVATE },
	[CM_SIDR_REQ - CM_REQ]	= { "SIDR_REQ",	FIELDS(sidr_req_fields),  16, CM_SIDR_REQ_PRIVATE },
	[CM_SIDR_REP - CM_REQ]	= { "SIDR_REP",	FIELDS(sidr_rep_fields),  96, CM_SIDR_REP_PRIVATE },
	[CM_LAP - CM_REQ]	= { "LAP",	FIELDS(lap_fields),	  64, CM_LAP_PRIVATE },
	[CM_APR - CM_REQ]	= { "APR",	FIELDS(apr_fields),	  84, CM_APR_PRIVATE },
};
/* clang-format on */

#define NUM_LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* NULL: an attribute that is no message of the CM. */
static const struct layout *layout_of(unsigned attr)
{
	return attr >= CM_REQ && attr - CM_REQ < NUM_LAYOUTS ? &layouts[attr - CM_REQ] : NULL;
}

/* A number in a struct: size is 1, 2, 4 or 8. */
static uint64_t member_get(const uint8_t *at, uint8_t size)
{
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1: return *at;
	case 2: memcpy(&u16, at, sizeof(u16)); return u16;
	case 4: memcpy(&u32, at, sizeof(u32)); return u32;
	default: memcpy(&u64, at, sizeof(u64)); return u64;
	}
}

static void member_put(uint8_t *at, uint8_t size, uint64_t value)
{
	const uint16_t u16 = (uint16_t)value;
	const uint32_t u32 = (uint32_t)value;

	switch (size) {
	case 1: *at = (uint8_t)value; break;
	case 2: memcpy(at, &u16, sizeof(u16)); break;
	case 4: memcpy(at, &u32, sizeof(u32)); break;
	default: memcpy(at, &value, sizeof(value)); break;
	}
}

/* A number is within the 8 bytes from its first: every table ends 8 bytes before the MAD does. */
static uint64_t field_mask(const struct field *field)
{
	return UINT64_MAX >> (64 - field->width) << (64 - field->width - field->bit);
}

static void field_parse(struct cm_msg *ret, const struct field *field, const uint8_t *body)
{
	const uint8_t *p = body + field->byte;
	uint8_t *member = (uint8_t *)ret + field->at;
	uint64_t value;

	if (field->width > 64) {
		memcpy(member, p, field->size);
		return;
	}
	value = (get_be64(p) & field_mask(field)) >> (64 - field->width - field->bit);
	member_put(member, field->size, member_get(member, field->size) | value << field->low);
}

static void field_emit(uint8_t *body, const struct field *field, const struct cm_msg *msg)
{
	uint8_t *p = body + field->byte;
	const uint8_t *member = (const uint8_t *)msg + field->at;
	uint64_t value;

	if (field->width > 64) {
		memcpy(p, member, field->size);
		return;
	}
	value = member_get(member, field->size) >> field->low << (64 - field->width - field->bit);
	put_be64(p, (get_be64(p) & ~field_mask(field)) | (value & field_mask(field)));
}

/* The MAD header. Status and the class's own field, at 4 and 6, are 0. */
enum {
	AT_BASE_VERSION = 0,
	AT_CLASS = 1,
	AT_CLASS_VERSION = 2,
	AT_METHOD = 3,
	AT_TID = 8,
	AT_ATTR_ID = 16,
	AT_ATTR_MOD = 20,
};

bool cm_msg_parse(struct cm_msg *ret, const uint8_t mad[static CM_MAD_BYTES])
{
	const uint8_t *body = mad + MAD_HEADER_BYTES;
	const uint16_t attr = get_be16(mad + AT_ATTR_ID);
	const struct layout *layout = layout_of(attr);

	if (mad[AT_BASE_VERSION] != MAD_BASE_VERSION || mad[AT_CLASS] != MAD_CLASS_CM ||
	    mad[AT_CLASS_VERSION] != CM_CLASS_VERSION || mad[AT_METHOD] != MAD_METHOD_SEND ||
	    !layout)
		return false;

	memset(ret, 0, sizeof(*ret));
	ret->attr = (enum cm_attr)attr;
	ret->tid = get_be64(mad + AT_TID);
	ret->ece_options = get_be32(mad + AT_ATTR_MOD);
	for (size_t i = 0; i < layout->num_fields; i++)
		field_parse(ret, &layout->fields[i], body);
	ret->private_len = layout->private_len;
	memcpy(ret->private_data, body + layout->private_at, layout->private_len);
	return true;
}

void cm_msg_emit(uint8_t ret_mad[static CM_MAD_BYTES], const struct cm_msg *msg)
{
	const struct layout *layout = layout_of(msg->attr);
	uint8_t *body = ret_mad + MAD_HEADER_BYTES;

	assert(layout && msg->private_len <= layout->private_len);
	memset(ret_mad, 0, CM_MAD_BYTES);
	ret_mad[AT_BASE_VERSION] = MAD_BASE_VERSION;
	ret_mad[AT_CLASS] = MAD_CLASS_CM;
	ret_mad[AT_CLASS_VERSION] = CM_CLASS_VERSION;
	ret_mad[AT_METHOD] = MAD_METHOD_SEND;
	put_be64(ret_mad + AT_TID, msg->tid);
	put_be16(ret_mad + AT_ATTR_ID, (uint16_t)msg->attr);
	put_be32(ret_mad + AT_ATTR_MOD, msg->ece_options);
	for (size_t i = 0; i < layout->num_fields; i++)
		field_emit(body, &layout->fields[i], msg);
	memcpy(body + layout->private_at, msg->private_data, msg->private_len);
}

uint8_t cm_private_max(enum cm_attr attr)
{
	const struct layout *layout = layout_of(attr);

	return layout ? layout->private_len : 0;
}

const char *cm_attr_str(enum cm_attr attr)
{
	const struct layout *layout = layout_of(attr);

	return layout ? layout->name : "?";
}

/* IP addressing (annex A11):
 *
 *   byte
 *     0   major and minor version of the header, 4 bits each
 *     1   IP version, 4 bits; 4 bits reserved
 *     2   source port
 *     4   source address: IPv4 in the last 4 of 16 bytes
 *    20   destination address, likewise */
enum {
	AT_VERSION = 0,
	AT_IP_VERSION = 1,
	AT_SRC_PORT = 2,
	AT_SRC = 4,
	AT_DST = 20,
};

static void addr_parse(struct gid *ret, const uint8_t *p, uint8_t ip_version)
{
	if (ip_version == 4)
		gid_set_v4(ret, p + 12);
	else
		memcpy(ret->raw, p, sizeof(ret->raw));
}

static void addr_emit(uint8_t *p, const struct gid *addr, uint8_t ip_version)
{
	memcpy(p, addr->raw, sizeof(addr->raw));
	if (ip_version == 4)
		memset(p, 0, 12);
}

bool cm_ip_header_parse(struct cm_ip_header *ret, const uint8_t p[static CM_IP_HEADER_BYTES])
{
	const uint8_t ip_version = p[AT_IP_VERSION] >> 4;

	if (ip_version != 4 && ip_version != 6)
		return false;
	ret->cma_version = p[AT_VERSION];
	ret->ip_version = ip_version;
	ret->src_port = get_be16(p + AT_SRC_PORT);
	addr_parse(&ret->src, p + AT_SRC, ip_version);
	addr_parse(&ret->dst, p + AT_DST, ip_version);
	return true;
}

void cm_ip_header_emit(uint8_t p[static CM_IP_HEADER_BYTES], const struct cm_ip_header *header)
{
	p[AT_VERSION] = header->cma_version;
	p[AT_IP_VERSION] = (uint8_t)(header->ip_version << 4);
	put_be16(p + AT_SRC_PORT, header->src_port);
	addr_emit(p + AT_SRC, &header->src, header->ip_version);
	addr_emit(p + AT_DST, &header->dst, header->ip_version);
}
