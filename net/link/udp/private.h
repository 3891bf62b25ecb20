/* SPDX-License-Identifier: MIT */
/* The parts of a UDP link: private to net/link/udp/. */
#ifndef RXE_LINK_UDP_PRIVATE_H
#define RXE_LINK_UDP_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/link/udp/address.h"
#include "net/link/udp/udp.h"

#define UDP_RX_BATCH   4      /* datagrams of one receive call */
#define UDP_RX_BYTES   65536u /* one datagram, or one train that the kernel merged */
#define UDP_RX_CONTROL 160
#define UDP_TX_CONTROL 96
#define UDP_MAX_GROUPS 256
#define UDP_PEERS      64 /* cached results of udp_is_local */
#define UDP_HOP_LIMIT  64

/* The kernel's number; glibc's headers leave it out. */
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif

/* What a socket does by itself: fields of the IP headers, and the length of the packets that it
 * cuts longer datagrams into; 0: it cuts none. */
struct udp_settings {
	uint8_t traffic_class, hop_limit;
	uint16_t seg_len;
};

/* A socket that sends. */
struct udp_sender {
	struct udp_settings has;
	/* What the last trains asked for instead, and how many in a row. */
	struct udp_settings wanted;
	uint32_t times;
};

struct udp_tx {
	struct mmsghdr msg[UDP_BURST];
	struct iovec iov[UDP_BURST];
	union udp_addr name[UDP_BURST];
	_Alignas(8) uint8_t control[UDP_BURST][UDP_TX_CONTROL];
};

struct udp_rx {
	struct mmsghdr msg[UDP_RX_BATCH];
	struct iovec iov[UDP_RX_BATCH];
	union udp_addr name[UDP_RX_BATCH];
	_Alignas(8) uint8_t control[UDP_RX_BATCH][UDP_RX_CONTROL];
	uint32_t batch; /* datagrams that the last call could return */
	uint32_t count; /* datagrams that it returned */
	uint32_t next;	/* the first datagram with packets left */

	/* Datagram next: its packets before offset are returned; common is the same for all. */
	bool opened;
	uint32_t offset;
	uint32_t seg_len;
	struct wire_arrival common;
	struct gid dst; /* address of the socket that was read */
	uint8_t bytes[UDP_RX_BATCH][UDP_RX_BYTES];
};

struct udp_peer {
	struct gid gid;
	uint32_t left; /* uses until the entry expires; 0: expired */
	bool same_host;
};

struct udp_link {
	struct link base; /* first: a struct link * is one of these */
	struct udp_cfg cfg;
	int family;
	uint32_t ifindex;
	int tx_fd[LINK_TX_PORTS];
	struct udp_sender sender[LINK_TX_PORTS];
	struct udp_tx tx;
	struct udp_rx rx;
	struct udp_peer peer[UDP_PEERS];
	struct gid group[UDP_MAX_GROUPS]; /* that are joined, each with a socket */
	int group_fd[UDP_MAX_GROUPS];
	uint32_t num_groups;
	/* epoll: they and the slot's socket; -1 before the first group is joined. */
	int groups_fd;
	uint32_t turns; /* calls of udp_receive that read a socket */
};

/* Operations (net/link/link.h). */
int udp_send(struct link *base, const struct wire_train *trains, size_t n);
int udp_receive(struct link *base, struct wire_arrival *ret, size_t max);
void udp_idle(struct link *base);
int udp_join(struct link *base, const struct gid *group);
int udp_leave(struct link *base, const struct gid *group);
bool udp_is_local(struct link *base, const struct gid *gid);

void udp_tx_init(struct udp_link *link);
void udp_rx_init(struct udp_link *link);
/* Sets options of a receiving socket that improve reception; failures are ignored. */
void udp_set_receive_options(int fd, int family);
/* Attaches the steering program of a group. known lists the senders of this host that are accepted,
 * the group's own among them; packets of other senders of this host go to the sink. NULL: all are
 * accepted. */
int udp_attach_steering(int fd, int family, uint32_t slots, const struct udp_local *known,
			size_t n);
void udp_set_header_options(int fd, int family, bool show);

#endif
