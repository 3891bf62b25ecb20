// SPDX-License-Identifier: MIT
/* Opening the link of a device on an interface. ARP and neighbour discovery are answered by the server; this process only
 * asks, for the neighbours that it sends to. */
#include "lib/progress/ethernet.h"

#include <string.h>

#include "lib/verbs/objects.h"
#include "net/link/ethernet/ethernet.h"

static void link_says(void *arg, const char *line)
{
	(void)arg;
	rxe_log(RXE_LOG_WARNING, "%s", line);
}

int vb_wire_veth_open(const struct vb_device *dev, struct link_veth **ret)
{
	struct link_veth_cfg cfg = {
		.ifname = dev->info.if_name,
		.gid = dev->info.gids[0],
		.prefix_len = dev->info.prefix_len,
		.gateway = dev->info.gateway,
		.slot = dev->attachment.slot,
		.log = link_says,
	};
	int err = link_veth_port_sockets(&cfg.port, dev->attachment.rx_fd, dev->attachment.tx_fd);

	if (err)
		return err;
	memcpy(cfg.mac, dev->info.mac, sizeof(cfg.mac));
	err = link_veth_open(ret, &cfg);
	if (err)
		cfg.port->close(cfg.port);
	return err;
}
