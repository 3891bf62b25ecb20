// SPDX-License-Identifier: MIT
/* Opening the link of a device on an interface. ARP and neighbor discovery are answered by the server; this process only
 * asks, for the neighbors that it sends to. */
#include "lib/progress/ethernet.h"

#include <string.h>

#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "net/link/ethernet/ethernet.h"

static void link_says(void *arg, const char *line)
{
	(void)arg;
	rxe_log(RXE_LOG_WARNING, "%s", line);
}

int vb_wire_veth_open(const struct progress *progress, struct link **ret)
{
	struct ethernet_cfg cfg = {
		.ifname = progress->info->if_name,
		.gid = progress->info->gids[0],
		.prefix_len = progress->info->prefix_len,
		.gateway = progress->info->gateway,
		.slot = progress->attachment->slot,
		.log = link_says,
	};
	int err = ethernet_port_sockets(&cfg.port, progress->attachment->rx_fd,
					progress->attachment->tx_fd);

	if (err)
		return err;
	memcpy(cfg.mac, progress->info->mac, sizeof(cfg.mac));
	err = ethernet_open(ret, &cfg);
	if (err)
		cfg.port->close(cfg.port);
	return err;
}
