/* SPDX-License-Identifier: MIT */
/* Packet sockets of a slot. libpcap compiles the filter from an expression that also works with
 * tcpdump; the kernel applies it, so a process is woken for its own slot's packets only. (libpcap's
 * own sockets cannot be handed to another process.) A second packet socket sends: a socket does not
 * receive what it sends, and the slots of a device must receive each other's frames. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/ethernet/neighbor.h"
#include "net/link/ethernet/private.h"
#include "net/link/socket.h"
#include "net/link/udp/address.h"

#define RCVBUF_BYTES (8 * 1024 * 1024)
#define SNDBUF_BYTES (4 * 1024 * 1024)
#define EXPRESSION   600  /* bytes */
#define MAX_FILTER   512u /* instructions */

static int fail(const struct ethernet_filter *filter, int error)
{
	struct link_log log = filter->log;
	const char *name = filter->ifname;

	if (error == EPERM || error == EACCES)
		link_warn(&log, LINK_EACH_TIME,
			  "no permission for raw frames on %s: start the device server as root, or "
			  "with CAP_NET_RAW (rxe_dm(1) shows how)",
			  name);
	else if (error == ENODEV || error == ENXIO)
		link_warn(&log, LINK_EACH_TIME, "there is no interface %s: see ip link", name);
	else if (error == ENETDOWN)
		link_warn(&log, LINK_EACH_TIME, "%s is down: try ip link set %s up", name, name);
	else if (error == ENOTSUP)
		link_warn(&log, LINK_EACH_TIME, "%s is not an Ethernet interface", name);
	else
		link_warn(&log, LINK_EACH_TIME, "cannot open packet sockets on %s: %s", name,
			  strerror(error));
	return -error;
}

/* The condition on byte 5 of the BTH, the top byte of the destination QPN. */
static void slot_condition(char *ret, size_t room, const struct ethernet_filter *filter,
			   const char *byte)
{
	if (filter->slots == 0)
		(void)snprintf(ret, room, "%s >= 0", byte);
	else if (filter->slot == 0)
		(void)snprintf(ret, room, "(%s = 0 or %s >= %u)", byte, byte, filter->slots);
	else
		(void)snprintf(ret, room, "%s = %u", byte, filter->slot);
}

static void expression(char *ret, size_t room, const struct ethernet_filter *filter)
{
	const uint8_t *mac = filter->mac;
	char address[INET6_ADDRSTRLEN], slot[80];

	if (gid_is_v4(&filter->gid)) {
		slot_condition(slot, sizeof(slot), filter, "udp[13]");
		(void)inet_ntop(AF_INET, filter->gid.raw + 12, address, sizeof(address));
	} else {
		slot_condition(slot, sizeof(slot), filter, "ip6[53]");
		(void)inet_ntop(AF_INET6, filter->gid.raw, address, sizeof(address));
	}
	(void)snprintf(
		ret, room,
		"(ether dst %02x:%02x:%02x:%02x:%02x:%02x or ether multicast) and (%s or (%s "
		"and udp dst port 4791 and ((dst host %s and %s) or %s multicast)))",
		mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
		gid_is_v4(&filter->gid) ? "arp" : "(icmp6 and (ip6[40] = 135 or ip6[40] = 136))",
		gid_is_v4(&filter->gid) ? "ip" : "ip6", address, slot,
		gid_is_v4(&filter->gid) ? "ip" : "ip6");
}

/* The caller frees *ret with pcap_freecode(). */
static int compile(const struct ethernet_filter *filter, struct bpf_program *ret)
{
	char text[EXPRESSION];
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, (int)ETHERNET_FRAME_MAX);
	int rc;

	if (!pcap)
		return -ENOMEM;
	expression(text, sizeof(text), filter);
	rc = pcap_compile(pcap, ret, text, 1, PCAP_NETMASK_UNKNOWN);
	pcap_close(pcap);
	return rc == 0 ? 0 : -EINVAL;
}

/* Attaches the filter, after a check for VLAN tags: the kernel has removed the tag from the frame
 * by then. Locks the filter, because other processes will hold the socket. */
static int attach(int fd, const struct ethernet_filter *filter)
{
	struct sock_filter code[MAX_FILTER] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = 3, .filter = code };
	struct bpf_program compiled;
	int rc = compile(filter, &compiled);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < compiled.bf_len && program.len < MAX_FILTER; i++)
		code[program.len++] =
			(struct sock_filter){ compiled.bf_insns[i].code, compiled.bf_insns[i].jt,
					      compiled.bf_insns[i].jf, compiled.bf_insns[i].k };
	rc = program.len == compiled.bf_len + 3 ? 0 : -E2BIG;
	pcap_freecode(&compiled);
	if (rc != 0)
		return rc;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0 ||
	    socket_set(fd, SOL_SOCKET, SO_LOCK_FILTER, 1) != 0)
		return -errno;
	return 0;
}

static int listen_for(int fd, uint32_t ifindex, uint16_t type, const uint8_t *mac)
{
	struct packet_mreq req = { .mr_ifindex = (int)ifindex,
				   .mr_type = type,
				   .mr_alen = FRAME_MAC_LEN };

	memcpy(req.mr_address, mac, FRAME_MAC_LEN);
	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &req, sizeof(req));
}

/* Makes the interface accept frames to the device's MAC, which is not the interface's, and to the
 * group of neighbor solicitations for its address. */
static void accept_frames(int fd, uint32_t ifindex, const struct ethernet_filter *filter)
{
	uint8_t group_mac[FRAME_MAC_LEN];

	if (listen_for(fd, ifindex, PACKET_MR_UNICAST, filter->mac) != 0)
		(void)listen_for(fd, ifindex, PACKET_MR_PROMISC, filter->mac);
	if (gid_is_v4(&filter->gid))
		return;
	neighbor_group_mac(group_mac, &filter->gid);
	(void)listen_for(fd, ifindex, PACKET_MR_MULTICAST, group_mac);
}

static int prepare_tx(int fd, const struct ethernet_filter *filter, uint32_t ifindex)
{
	if (socket_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, SNDBUF_BYTES) != 0)
		(void)socket_set(fd, SOL_SOCKET, SO_SNDBUF, SNDBUF_BYTES);
	accept_frames(fd, ifindex, filter);
	return 0;
}

static int prepare_rx(int fd, const struct ethernet_filter *filter)
{
	(void)socket_set(fd, SOL_PACKET, PACKET_VNET_HDR, 1);
	socket_set_rcvbuf(fd, RCVBUF_BYTES);
	return attach(fd, filter);
}

/* A socket bound to the interface, or -errno. The filter is there before the bind; the socket that
 * sends has protocol 0, and receives nothing. */
static int open_socket(const struct ethernet_filter *filter, uint32_t ifindex, bool receives)
{
	const struct sockaddr_ll address = { .sll_family = AF_PACKET,
					     .sll_protocol = htons(receives ? ETH_P_ALL : 0),
					     .sll_ifindex = (int)ifindex };
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = receives ? prepare_rx(fd, filter) : prepare_tx(fd, filter, ifindex);
	if (rc == 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

int ethernet_open_sockets(const struct ethernet_filter *filter, int *ret_rx_fd, int *ret_tx_fd)
{
	const uint32_t ifindex = if_nametoindex(filter->ifname);
	int rx_fd, tx_fd;
	uint8_t mac[FRAME_MAC_LEN];

	if (!ifindex)
		return fail(filter, ENODEV);
	if (!udp_addr_if_mac(mac, filter->ifname))
		return fail(filter, ENOTSUP);
	tx_fd = open_socket(filter, ifindex, false);
	if (tx_fd < 0)
		return fail(filter, -tx_fd);
	rx_fd = open_socket(filter, ifindex, true);
	if (rx_fd < 0) {
		(void)close(tx_fd);
		return fail(filter, -rx_fd);
	}
	*ret_rx_fd = rx_fd;
	*ret_tx_fd = tx_fd;
	return 0;
}
