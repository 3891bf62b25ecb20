/* SPDX-License-Identifier: MIT */
/* The port of an Ethernet link on packet sockets that the device server opened. With
 * PACKET_VNET_HDR the kernel reports the packet size of an uncut train. Linux before 6.2 refuses
 * UDP trains with EINVAL; the option is then turned off. */
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/link/ethernet/private.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

struct socket_port {
	struct ethernet_port port;
	bool has_header; /* a virtio_net_hdr precedes each frame */
	struct mmsghdr msg[ETHERNET_RX_BATCH];
	struct iovec iov[ETHERNET_RX_BATCH][2];
	struct virtio_net_hdr header[ETHERNET_RX_BATCH];
	uint8_t bytes[ETHERNET_RX_BATCH][ETHERNET_FRAME_MAX];
};

static void set_has_header(struct socket_port *port, bool has)
{
	port->has_header = has;
	for (uint32_t i = 0; i < ETHERNET_RX_BATCH; i++) {
		port->msg[i].msg_hdr.msg_iov = &port->iov[i][has ? 0 : 1];
		port->msg[i].msg_hdr.msg_iovlen = has ? 2 : 1;
	}
}

static void turn_header_off(struct socket_port *port)
{
	const int no = 0;

	if (setsockopt(port->port.rx_fd, SOL_PACKET, PACKET_VNET_HDR, &no, sizeof(no)) == 0)
		set_has_header(port, false);
}

static struct ethernet_frame frame_at(const struct socket_port *port, uint32_t i)
{
	const struct virtio_net_hdr *header = &port->header[i];
	struct ethernet_frame frame = { .p = port->bytes[i], .len = port->msg[i].msg_len };

	if (!port->has_header)
		return frame;
	frame.len = frame.len > sizeof(*header) ? frame.len - (uint32_t)sizeof(*header) : 0;
	if ((header->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_UDP_L4)
		frame.gso_size = header->gso_size;
	else if (frame.len > 0 && header->gso_type == VIRTIO_NET_HDR_GSO_NONE)
		frame.gso_size = ETHERNET_FRAME_MAX; /* one packet of any length */
	return frame;
}

static int socket_read(struct ethernet_port *base, struct ethernet_frame *ret, uint32_t max)
{
	struct socket_port *port = (struct socket_port *)base;
	int rc;

	do {
		rc = recvmmsg(base->rx_fd, port->msg,
			      max < ETHERNET_RX_BATCH ? max : ETHERNET_RX_BATCH, MSG_DONTWAIT,
			      NULL);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0 && errno == EINVAL && port->has_header) {
		turn_header_off(port);
		return 0;
	}
	if (rc < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (int i = 0; i < rc; i++)
		ret[i] = frame_at(port, (uint32_t)i);
	return rc;
}

static void socket_close(struct ethernet_port *base)
{
	free(base);
}

int ethernet_port_sockets(struct ethernet_port **ret, int rx_fd, int tx_fd)
{
	struct socket_port *port;
	int has_header = 0;
	socklen_t len = sizeof(has_header);

	if (getsockopt(rx_fd, SOL_PACKET, PACKET_VNET_HDR, &has_header, &len) != 0)
		return -errno;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->port = (struct ethernet_port){
		.rx_fd = rx_fd, .tx_fd = tx_fd, .read = socket_read, .close = socket_close
	};
	for (uint32_t i = 0; i < ETHERNET_RX_BATCH; i++) {
		port->iov[i][0] = (struct iovec){ &port->header[i], sizeof(port->header[i]) };
		port->iov[i][1] = (struct iovec){ port->bytes[i], sizeof(port->bytes[i]) };
	}
	set_has_header(port, has_header != 0);
	*ret = &port->port;
	return 0;
}
