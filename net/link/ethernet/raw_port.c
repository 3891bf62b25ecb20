// SPDX-License-Identifier: MIT
/* One packet socket sends and receives: the kernel does not return its frames to it. Frames that
 * leave the host by the interface pass the filter only with the mark of raw ports. */
#include "net/link/ethernet/raw_port.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/descriptor.h"
#include "net/link/socket.h"
#include "net/link/udp/address.h"
#include "net/wire/packet.h"

#define BATCH	     16u
#define MARK	     0x72786577u
#define TAG_LEN	     4u
#define MACS_LEN     12u
#define BUFFER_BYTES (4 * 1024 * 1024)

struct raw_port {
	int fd;
	uint32_t mtu;
	struct mmsghdr rx[BATCH];
	struct iovec rx_iov[BATCH];
	uint8_t control[BATCH][CMSG_SPACE(sizeof(struct tpacket_auxdata))]
		__attribute__((aligned(8)));
	/* Each has room for a tag in front. */
	uint8_t bytes[BATCH][TAG_LEN + WIRE_MAX_FRAME];
	struct mmsghdr tx[BATCH];
	struct iovec tx_iov[BATCH];
};

int raw_port_may_open(void)
{
	/* Protocol 0: it receives nothing. */
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Takes all that arrives, and of what leaves only frames of raw ports. */
static int attach_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_MARK)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) == 0 ? 0 : -errno;
}

/* Without the mark (before Linux 5.17 it needs CAP_NET_ADMIN) other processes of this host do not
 * receive from this port. */
static int set_options(int fd, uint32_t ifindex)
{
	const struct packet_mreq promiscuous = { .mr_ifindex = (int)ifindex,
						 .mr_type = PACKET_MR_PROMISC };

	(void)socket_set(fd, SOL_SOCKET, SO_MARK, MARK);
	socket_set_rcvbuf(fd, BUFFER_BYTES);
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)))
		return -errno;
	return socket_set(fd, SOL_PACKET, PACKET_AUXDATA, 1);
}

/* The filter is there before the socket is bound: until then nothing arrives. */
static int open_socket(struct raw_port *port, const char *ifname)
{
	const struct sockaddr_ll addr = { .sll_family = AF_PACKET,
					  .sll_protocol = __builtin_bswap16(ETH_P_ALL),
					  .sll_ifindex = (int)if_nametoindex(ifname) };
	int rc;

	port->fd = descriptor_keep(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (port->fd < 0)
		return -errno;
	if (!addr.sll_ifindex)
		return -ENODEV;
	port->mtu = udp_addr_if_mtu((uint32_t)addr.sll_ifindex);
	rc = attach_filter(port->fd);
	if (rc == 0)
		rc = set_options(port->fd, (uint32_t)addr.sll_ifindex);
	if (rc == 0 && bind(port->fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		rc = -errno;
	return rc;
}

static void prepare(struct raw_port *port)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		port->rx_iov[i] = (struct iovec){ port->bytes[i] + TAG_LEN, WIRE_MAX_FRAME };
		port->rx[i].msg_hdr.msg_iov = &port->rx_iov[i];
		port->rx[i].msg_hdr.msg_iovlen = 1;
		port->tx[i].msg_hdr.msg_iov = &port->tx_iov[i];
		port->tx[i].msg_hdr.msg_iovlen = 1;
	}
}

int raw_port_open(struct raw_port **ret, const char *ifname)
{
	struct raw_port *port;
	int rc;

	if (strlen(ifname) >= IF_NAMESIZE)
		return -ENODEV;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	rc = open_socket(port, ifname);
	if (rc != 0) {
		raw_port_close(port);
		return rc;
	}
	prepare(port);
	*ret = port;
	return 0;
}

void raw_port_close(struct raw_port *port)
{
	if (!port)
		return;
	descriptor_close(port->fd);
	free(port);
}

int raw_port_fd(const struct raw_port *port)
{
	return port->fd;
}

uint32_t raw_port_mtu(const struct raw_port *port)
{
	return port->mtu;
}

/* The kernel takes the first tag off a frame: puts it back. */
static void restore_tag(struct raw_port_frame *frame, const struct tpacket_auxdata *aux)
{
	const bool has_type = aux->tp_status & TP_STATUS_VLAN_TPID_VALID;

	if (!(aux->tp_status & TP_STATUS_VLAN_VALID) || frame->len < MACS_LEN)
		return;
	memmove(frame->p - TAG_LEN, frame->p, MACS_LEN);
	frame->p -= TAG_LEN;
	frame->len += TAG_LEN;
	put_be16(frame->p + MACS_LEN, has_type ? aux->tp_vlan_tpid : ETH_P_8021Q);
	put_be16(frame->p + MACS_LEN + 2, aux->tp_vlan_tci);
}

static struct raw_port_frame frame_at(struct raw_port *port, uint32_t i)
{
	struct raw_port_frame frame = { .p = port->bytes[i] + TAG_LEN, .len = port->rx[i].msg_len };
	struct tpacket_auxdata aux = { 0 };
	const struct cmsghdr *c = CMSG_FIRSTHDR(&port->rx[i].msg_hdr);

	if (c && c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA &&
	    c->cmsg_len >= CMSG_LEN(sizeof(aux)))
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
	restore_tag(&frame, &aux);
	frame.lacks_checksum = aux.tp_status & TP_STATUS_CSUMNOTREADY;
	return frame;
}

int raw_port_receive(struct raw_port *port, struct raw_port_frame *ret, size_t max,
		     uint64_t *too_long)
{
	int n, kept = 0;

	for (uint32_t i = 0; i < BATCH; i++) {
		port->rx[i].msg_hdr.msg_control = port->control[i];
		port->rx[i].msg_hdr.msg_controllen = sizeof(port->control[i]);
	}
	do {
		n = recvmmsg(port->fd, port->rx, max < BATCH ? (unsigned int)max : BATCH,
			     MSG_DONTWAIT, NULL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		if (port->rx[i].msg_hdr.msg_flags & MSG_TRUNC)
			(*too_long)++;
		else
			ret[kept++] = frame_at(port, (uint32_t)i);
	}
	return kept;
}

static uint32_t fill(struct raw_port *port, const struct wire_train *train, uint32_t first)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < train->segs && n < BATCH; i++, n++)
		port->tx_iov[n] = (struct iovec){ wire_train_packet(train, i),
						  wire_train_packet_len(train, i) };
	return n;
}

int raw_port_send(struct raw_port *port, const struct wire_train *train, uint64_t *errors)
{
	uint32_t done = 0;

	assert(train->bare && train->segs > 0);
	while (done < train->segs) {
		const uint32_t n = fill(port, train, done);
		const int sent = sendmmsg(port->fd, port->tx, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			done += (uint32_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (socket_is_full(errno) && done == 0)
			return -EAGAIN;
		if (socket_is_full(errno) && socket_wait_writable(port->fd))
			continue;
		/* Half a train cannot be returned: this frame is lost. */
		(*errors)++;
		done++;
	}
	return 0;
}
