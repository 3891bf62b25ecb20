// SPDX-License-Identifier: MIT
/* rdma_getaddrinfo(3): names and services to IP addresses, by getaddrinfo(3), and on request to the
 * GIDs that RoCE makes of them. */
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/newer.h"
#include "lib/refusal/refusal.h"

/* 0: either. */
static int socket_type(const struct rdma_addrinfo *hints)
{
	const int type = hints->ai_qp_type;

	if (type == IBV_QPT_UD)
		return SOCK_DGRAM;
	if (type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_XRC_SEND ||
	    type == IBV_QPT_XRC_RECV)
		return SOCK_STREAM;
	return 0;
}

static int protocol(const struct rdma_addrinfo *hints)
{
	const int space = hints->ai_port_space;
	const int type = space == RDMA_PS_IB ? socket_type(hints) : 0;

	if (space == RDMA_PS_TCP || type == SOCK_STREAM)
		return IPPROTO_TCP;
	if (space == RDMA_PS_UDP || space == RDMA_PS_IPOIB || type == SOCK_DGRAM)
		return IPPROTO_UDP;
	return 0;
}

static struct addrinfo translate_hints(const struct rdma_addrinfo *hints)
{
	return (struct addrinfo){
		.ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
			    (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0),
		.ai_family = hints->ai_family == AF_IB ? AF_UNSPEC : hints->ai_family,
		.ai_socktype = socket_type(hints),
		.ai_protocol = protocol(hints),
	};
}

static int copy_addr(struct sockaddr **ret, socklen_t *ret_len, const struct sockaddr *addr,
		     socklen_t len)
{
	if (!len)
		return 0;
	*ret = malloc(len);
	if (!*ret)
		return refuse(WHY_NO_MEMORY, "an address");
	memcpy(*ret, addr, len);
	*ret_len = len;
	return 0;
}

/* GIDs are asked for as numbers, in the notation of IPv6. */
static bool wants_gid(const struct rdma_addrinfo *hints)
{
	const int needed = RAI_FAMILY | RAI_NUMERICHOST;

	return hints && hints->ai_family == AF_IB && (hints->ai_flags & needed) == needed;
}

/* The GID of an IP address, with the service ID of a port space and a port. */
static struct sockaddr_ib gid_of(const struct sockaddr *addr, int port_space)
{
	struct sockaddr_ib ret = { .sib_family = AF_IB, .sib_pkey = htons(0xffff) };
	struct sockaddr_in6 in6 = { 0 };
	struct sockaddr_in in;

	if (addr->sa_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		in6.sin6_port = in.sin_port;
		in6.sin6_addr.s6_addr[10] = in6.sin6_addr.s6_addr[11] = 0xff;
		memcpy(&in6.sin6_addr.s6_addr[12], &in.sin_addr, sizeof(in.sin_addr));
	} else {
		memcpy(&in6, addr, sizeof(in6));
	}
	memcpy(&ret.sib_addr, &in6.sin6_addr, sizeof(ret.sib_addr));
	ret.sib_flowinfo = in6.sin6_flowinfo;
	ret.sib_scope_id = in6.sin6_scope_id;
	ret.sib_sid = htobe64((uint64_t)port_space << 16 | ntohs(in6.sin6_port));
	ret.sib_sid_mask = htobe64((port_space ? RDMA_IB_IP_PS_MASK : 0) |
				   (in6.sin6_port ? RDMA_IB_IP_PORT_MASK : 0));
	return ret;
}

static int copy_found(struct sockaddr **ret, socklen_t *ret_len, const struct rdma_addrinfo *info,
		      const struct addrinfo *found)
{
	struct sockaddr_ib gid;

	if (info->ai_family != AF_IB)
		return copy_addr(ret, ret_len, found->ai_addr, found->ai_addrlen);
	gid = gid_of(found->ai_addr, info->ai_port_space);
	return copy_addr(ret, ret_len, (const struct sockaddr *)&gid, sizeof(gid));
}

/* What the hints leave open follows from the socket type. */
static void translate_types(struct rdma_addrinfo *ret, const struct rdma_addrinfo *hints,
			    const struct addrinfo *found)
{
	bool is_datagram = found->ai_socktype == SOCK_DGRAM;

	ret->ai_family = wants_gid(hints) ? AF_IB : found->ai_family;
	ret->ai_qp_type = is_datagram ? IBV_QPT_UD : IBV_QPT_RC;
	ret->ai_port_space = found->ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (hints && hints->ai_qp_type)
		ret->ai_qp_type = hints->ai_qp_type;
	if (hints && hints->ai_port_space)
		ret->ai_port_space = hints->ai_port_space;
}

static int translate(struct rdma_addrinfo *ret, const struct rdma_addrinfo *hints,
		     const struct addrinfo *found)
{
	const char *name = found->ai_canonname;

	translate_types(ret, hints, found);
	if (hints && hints->ai_flags & RAI_PASSIVE) {
		ret->ai_flags = RAI_PASSIVE;
		ret->ai_src_canonname = name ? strdup(name) : NULL;
		return copy_found(&ret->ai_src_addr, &ret->ai_src_len, ret, found);
	}
	ret->ai_dst_canonname = name ? strdup(name) : NULL;
	return copy_found(&ret->ai_dst_addr, &ret->ai_dst_len, ret, found);
}

/* 0, a positive errno, or a negative EAI_*, which the manual page of getaddrinfo(3) lists. */
static int look_up(const char *node, const char *service, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo *ret)
{
	struct addrinfo asked, *found;
	int err;

	if (hints)
		asked = translate_hints(hints);
	err = getaddrinfo(node, service, hints ? &asked : NULL, &found);
	if (err)
		return err;
	err = translate(ret, hints, found);
	freeaddrinfo(found);
	return err;
}

/* Without names, the addresses are in the hints. */
static int copy_hints(struct rdma_addrinfo *ret, const struct rdma_addrinfo *hints)
{
	ret->ai_flags = hints->ai_flags;
	ret->ai_family = hints->ai_family;
	ret->ai_qp_type = hints->ai_qp_type;
	ret->ai_port_space = hints->ai_port_space;
	return copy_addr(&ret->ai_dst_addr, &ret->ai_dst_len, hints->ai_dst_addr,
			 hints->ai_dst_len);
}

static int find(const char *node, const char *service, const struct rdma_addrinfo *hints,
		struct rdma_addrinfo *ret)
{
	int err = node || service ? look_up(node, service, hints, ret) : copy_hints(ret, hints);

	if (err || ret->ai_src_len || !hints)
		return err;
	return copy_addr(&ret->ai_src_addr, &ret->ai_src_len, hints->ai_src_addr,
			 hints->ai_src_len);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *info;
	int err;
	NO_CANCEL;

	if (!res || (!node && !service && !hints))
		return rcm_result(res ? refuse(WHY_CM_NO_NAMES) : refuse(WHY_NULL, "res"));
	/* An InfiniBand subnet's administrator does not exist on Ethernet. */
	if (hints && hints->ai_flags & RAI_SA)
		return rcm_result(refuse(WHY_CM_NO_SA));
	info = calloc(1, sizeof(*info));
	if (!info)
		return rcm_result(refuse(WHY_NO_MEMORY, "an address"));
	err = find(node, service, hints, info);
	if (!err) {
		*res = info;
		return 0;
	}
	rdma_freeaddrinfo(info);
	/* A negative value is one of EAI_*: gai_strerror(3) explains it. */
	return err < 0 ? err : rcm_result(err);
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_connect);
		free(res->ai_route);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
		res = next;
	}
}
