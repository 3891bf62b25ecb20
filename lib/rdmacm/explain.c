// SPDX-License-Identifier: MIT
/* The line on the log, with the addresses that the device server has now. */
#include "lib/rdmacm/explain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/control/settings.h"
#include "lib/rdmacm/server.h"

#define LIST_MAX 200

/* "rxe_dm0 has 127.0.0.1, rxe_dm1 has fd00::1" */
static bool list_devices(const struct rcm_server *server, char ret[static LIST_MAX])
{
	struct ctl_device device[CTL_DEVICE_MAX];
	char text[CTL_GID_STR_MAX];
	size_t n, len = 0;

	if (ctl_list_devices(server->client, device, CTL_DEVICE_MAX, &n))
		return false;
	for (size_t i = 0; i < n && len < LIST_MAX - CTL_GID_STR_MAX - 20; i++)
		len += (size_t)snprintf(ret + len, LIST_MAX - len, "%srxe_dm%zu has %s",
					i ? ", " : "", i, ctl_gid_str(&device[i].gids[0], text));
	return n > 0;
}

static void explain(const struct rcm_server *server, const char *what, const struct sockaddr *addr)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	char list[LIST_MAX], text[INET6_ADDRSTRLEN];
	const void *raw = &((const struct sockaddr_in *)(const void *)addr)->sin_addr;

	if (addr->sa_family == AF_INET6)
		raw = &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
	else if (addr->sa_family != AF_INET)
		return;
	if (!inet_ntop(addr->sa_family, raw, text, sizeof(text)) ||
	    atomic_flag_test_and_set(&is_said) || !list_devices(server, list))
		return;
	ctl_log_as_verbs();
	ctl_log(CTL_LOG_WARNING,
		"%s %s: %s; use an address of a device, or start the device server with "
		"RXE_DM_ADDRESS",
		what, text, list);
}

static bool has_port(const struct sockaddr *addr)
{
	/* In both families the port follows the family. */
	return ((const struct sockaddr_in *)(const void *)addr)->sin_port != 0;
}

void rcm_explain_source(const struct rcm_server *server, const struct sockaddr *addr, int err)
{
	if ((err == EADDRNOTAVAIL || err == ENODEV) && has_port(addr))
		explain(server, "no device has the address", addr);
}

void rcm_explain_destination(const struct rcm_server *server, const struct sockaddr *addr, int err)
{
	if (err == ENODEV)
		explain(server, "no device reaches the address", addr);
}
