// SPDX-License-Identifier: MIT
/* Addresses, connections and multicast groups of ids. */
#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/record/cm/cm.h"

BELOW(rdma_bind_addr);
BELOW(rdma_resolve_addr);
BELOW(rdma_resolve_route);
BELOW(rdma_listen);
BELOW(rdma_connect);
BELOW(rdma_get_request);
BELOW(rdma_accept);
BELOW(rdma_reject);
BELOW(rdma_reject_ece);
BELOW(rdma_establish);
BELOW(rdma_notify);
BELOW(rdma_disconnect);
BELOW(rdma_join_multicast);
BELOW(rdma_join_multicast_ex);
BELOW(rdma_leave_multicast);

/* An address as two numbers, IPv4 as an IPv4-mapped one (RFC 4291, 2.5.5.2), and its port. Zeros:
 * another family, or no address. */
struct place {
	uint64_t high, low, port;
};

static struct place place_of(const struct sockaddr *addr)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	uint64_t half[2];

	if (addr && addr->sa_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		return (struct place){ 0, 0xffff00000000u | ntohl(in.sin_addr.s_addr),
				       ntohs(in.sin_port) };
	}
	if (!addr || addr->sa_family != AF_INET6)
		return (struct place){ 0 };
	memcpy(&in6, addr, sizeof(in6));
	memcpy(half, &in6.sin6_addr, sizeof(half));
	return (struct place){ be64toh(half[0]), be64toh(half[1]), ntohs(in6.sin6_port) };
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	const uint64_t began = rxe_dm_record_now();
	const struct place place = place_of(addr);
	const int rc = below_rdma_bind_addr(id, addr);

	RECORD_CM(RECORD_CM_BIND_ADDR, began, record_cm_error(rc), record_cm_id(id), place.high,
		  place.low, place.port);
	return rc;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	const uint64_t began = rxe_dm_record_now();
	const struct place place = place_of(dst);
	const int rc = below_rdma_resolve_addr(id, src, dst, timeout_ms);

	RECORD_CM(RECORD_CM_RESOLVE_ADDR, began, record_cm_error(rc), record_cm_id(id), place.high,
		  place.low, place.port, (uint64_t)timeout_ms);
	return rc;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_resolve_route(id, timeout_ms);

	RECORD_CM(RECORD_CM_RESOLVE_ROUTE, began, record_cm_error(rc), record_cm_id(id),
		  (uint64_t)timeout_ms);
	return rc;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_listen(id, backlog);

	RECORD_CM(RECORD_CM_LISTEN, began, record_cm_error(rc), record_cm_id(id),
		  (uint64_t)backlog);
	return rc;
}

static void add_param(enum record_verb verb, uint64_t began, int error, const struct rdma_cm_id *id,
		      const struct rdma_conn_param *param)
{
	const struct rdma_conn_param none = { 0 }, *p = param ? param : &none;

	RECORD_CM(verb, began, error, record_cm_id(id), record_cm_qp(id), p->private_data_len,
		  p->responder_resources, p->initiator_depth, p->retry_count, p->rnr_retry_count);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_connect(id, param);

	add_param(RECORD_CM_CONNECT, began, record_cm_error(rc), id, param);
	return rc;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_accept(id, param);

	add_param(RECORD_CM_ACCEPT, began, record_cm_error(rc), id, param);
	return rc;
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_get_request(listen, id);

	RECORD_CM(RECORD_CM_GET_REQUEST, began, record_cm_error(rc), record_cm_id(listen),
		  rc ? 0 : record_cm_id(*id), rc ? 0 : record_cm_qp(*id));
	return rc;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_reject(id, data, len);

	RECORD_CM(RECORD_CM_REJECT, began, record_cm_error(rc), record_cm_id(id), len);
	return rc;
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_reject_ece(id, data, len);

	RECORD_CM(RECORD_CM_REJECT, began, record_cm_error(rc), record_cm_id(id), len);
	return rc;
}

int rdma_establish(struct rdma_cm_id *id)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_establish(id);

	RECORD_CM(RECORD_CM_ESTABLISH, began, record_cm_error(rc), record_cm_id(id),
		  record_cm_qp(id));
	return rc;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_notify(id, event);

	RECORD_CM(RECORD_CM_NOTIFY, began, record_cm_error(rc), record_cm_id(id), event);
	return rc;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_disconnect(id);

	RECORD_CM(RECORD_CM_DISCONNECT, began, record_cm_error(rc), record_cm_id(id),
		  record_cm_qp(id));
	return rc;
}

static void add_group(enum record_verb verb, uint64_t began, int error, const struct rdma_cm_id *id,
		      const struct sockaddr *addr)
{
	const struct place place = place_of(addr);

	RECORD_CM(verb, began, error, record_cm_id(id), place.high, place.low);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_join_multicast(id, addr, context);

	add_group(RECORD_CM_JOIN, began, record_cm_error(rc), id, addr);
	return rc;
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_join_multicast_ex(id, attr, context);

	add_group(RECORD_CM_JOIN, began, record_cm_error(rc), id, attr ? attr->addr : NULL);
	return rc;
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_leave_multicast(id, addr);

	add_group(RECORD_CM_LEAVE, began, record_cm_error(rc), id, addr);
	return rc;
}
