// SPDX-License-Identifier: MIT
/* Chooses a device's address and opens its link. SO_REUSEPORT would let a second server of the same
 * user join the group and replace its steering program, so a server first binds the name
 * \0rxe_dm/4791/ADDRESS, the lock of the address. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/control/only_address.h"
#include "lib/control/socket.h"
#include "net/link/udp/address.h"
#include "net/wire/packet.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/limit.h"
#include "rxe_dm/server/link/address.h"
#include "rxe_dm/server/link/ethernet.h"
#include "rxe_dm/server/link/local_peers.h"
#include "rxe_dm/server/link/time_wait.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/memory.h"

#define NO_STEERING   "this kernel or sandbox refuses SO_ATTACH_REUSEPORT_CBPF"
#define LAST_LOOPBACK 254
#define PORT_TRIES    100
#define PORT_PAUSE_MS 20

/* The lock listens: for local_peers.c, and to show its holder. -EBUSY: another process holds it. */
static int lock_address(struct device *device, const struct gid *gid)
{
	struct ctl_name name;
	int fd;

	local_peers_name(&name, gid);
	fd = listener_bind(&name, SOCK_SEQPACKET);
	if (fd < 0)
		return fd == -EADDRINUSE ? -EBUSY : fd;
	device->link.lock.source.fd = fd;
	return 0;
}

static void unlock_address(struct device *device)
{
	close(device->link.lock.source.fd);
	device->link.lock.source.fd = -1;
}

/* Prints an address as /proc/net/udp and udp6 do: words of 32 bits in host byte order. */
static void proc_address(char ret[static 40], const struct gid *gid)
{
	const size_t begin = gid_is_v4(gid) ? 12 : 0;

	for (size_t at = begin; at < sizeof(gid->raw); at += 4) {
		uint32_t word;

		memcpy(&word, gid->raw + at, sizeof(word));
		snprintf(ret + 2 * (at - begin), 9, "%08X", word);
	}
}

/* True: a program of this user has the port open on the address. */
static bool is_held_by_our_user(const struct gid *gid)
{
	FILE *f = fopen(gid_is_v4(gid) ? "/proc/net/udp" : "/proc/net/udp6", "re");
	char line[256], wanted[40], address[40];
	bool held = false;
	unsigned int port, uid;

	proc_address(wanted, gid);
	while (f && !held && fgets(line, sizeof(line), f))
		held = sscanf(line, " %*d: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %u", address, &port,
			      &uid) == 3 &&
		       port == ROCE_UDP_PORT && uid == geteuid() && strcmp(address, wanted) == 0;
	if (f)
		fclose(f);
	return held;
}

/* Programs of a killed server close its sockets soon after the kill: waits up to 2 s for that. */
static int open_group(struct device *device, const struct gid *gid)
{
	int rc = udp_group_open(&device->link.udp, gid, device->link.slots);

	for (int i = 0; i < PORT_TRIES && rc == -EADDRINUSE && is_held_by_our_user(gid); i++) {
		poll(NULL, 0, PORT_PAUSE_MS);
		rc = udp_group_open(&device->link.udp, gid, device->link.slots);
	}
	return rc;
}

static int open_udp(struct device *device, const struct gid *gid)
{
	int rc = lock_address(device, gid);

	if (rc)
		return rc;
	rc = open_group(device, gid);
	if (rc)
		unlock_address(device);
	return rc;
}

/* True: UDP port 4791 is in use on every IPv4 address, even on an unlikely one. */
static bool taken_everywhere(void)
{
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_port = htons(ROCE_UDP_PORT),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 0xfffffc) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool taken;

	if (fd < 0)
		return false;
	taken = bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) && errno == EADDRINUSE;
	close(fd);
	return taken;
}

static void explain_taken(void)
{
	ctl_log(CTL_LOG_ERROR,
		"UDP port %u is in use on all addresses, by a program ('ss -ulnp sport = %u' shows "
		"it) or by the kernel's own rdma_rxe: end that ('modprobe -r rdma_rxe'), or use a "
		"network namespace of its own ('unshare -rn', then 'ip link set lo up')",
		ROCE_UDP_PORT, ROCE_UDP_PORT);
}

static void explain_locked(const struct gid *gid, const char *text)
{
	struct ctl_name name;
	uid_t uid;
	pid_t pid;

	local_peers_name(&name, gid);
	if (listener_holder(&name, &pid, &uid) == 0)
		ctl_log(CTL_LOG_ERROR,
			"%s is in use by the device server with process number %d (user %u): "
			"choose another address with --address or RXE_DM_ADDRESS",
			text, (int)pid, (unsigned int)uid);
	else
		ctl_log(CTL_LOG_ERROR,
			"the name @rxe_dm/%u/%s, which a device server holds for its address, is "
			"taken by a process that does not listen ('ss -xap' shows it): end that, "
			"or choose another address with --address or RXE_DM_ADDRESS",
			ROCE_UDP_PORT, text);
}

static void explain(const struct gid *gid, int rc)
{
	char text[CTL_GID_STR_MAX];

	ctl_gid_str(gid, text);
	if (rc == -EADDRNOTAVAIL) {
		ctl_log(CTL_LOG_ERROR,
			udp_addr_is_loopback(gid)
				? "%s is not there: bring the loopback interface up (ip link set "
				  "lo up)"
				: "%s is no address of this machine: choose one that 'ip address' "
				  "shows, or none for 127.0.0.1",
			text);
		return;
	}
	if (rc == -EBUSY) {
		explain_locked(gid, text);
		return;
	}
	if (rc != -EADDRINUSE) {
		limit_explain(rc, "no sockets on UDP port %u of %s", ROCE_UDP_PORT, text);
		return;
	}
	if (gid_is_v4(gid) && taken_everywhere())
		explain_taken();
	else
		ctl_log(CTL_LOG_ERROR,
			"UDP port %u of %s is in use by another program ('ss -ulnp sport = %u' "
			"shows it): end that, or choose another address with --address or "
			"RXE_DM_ADDRESS",
			ROCE_UDP_PORT, text, ROCE_UDP_PORT);
}

/* The first device of an instance has another address than programs expect by default. */
static void explain_other(const struct device *device)
{
	char text[CTL_GID_STR_MAX];

	ctl_log(CTL_LOG_WARNING,
		"rxe_dm%u has the address %s, because 127.0.0.1 is in use by another instance or "
		"program: programs use that address, or choose one with --address",
		device->index, ctl_gid_str(&device->link.gid, text));
}

/* True: known to be another network namespace than the first process's. An ordinary user may not
 * look at that process, and a container's first process shares the namespace. */
static bool is_namespace_of_its_own(void)
{
	struct stat own, first;

	return stat("/proc/self/ns/net", &own) == 0 && stat("/proc/1/ns/net", &first) == 0 &&
	       own.st_ino != first.st_ino;
}

/* Who makes a network namespace with an interface usually wants to be reached there. */
static void explain_loopback(const struct device *device)
{
	char text[CTL_GID_STR_MAX], other[CTL_GID_STR_MAX];
	struct gid gid;

	if (is_namespace_of_its_own() && ctl_only_address(&gid))
		ctl_log(CTL_LOG_WARNING,
			"rxe_dm%u has the address %s, which is not reached from outside this "
			"network namespace: --address auto (RXE_DM_ADDRESS=auto) takes %s",
			device->index, ctl_gid_str(&device->link.gid, text),
			ctl_gid_str(&gid, other));
}

/* Opens the device at the address that the settings name, or at the first of loopback that is free.
 * Failures are explained on the log. */
static int open_at(struct device *device, const struct ctl_settings *settings,
		   int (*open)(struct device *device, const struct gid *gid))
{
	struct gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };
	const bool is_fixed = settings->num_addresses > 0;
	int rc;

	if (is_fixed)
		gid = settings->address[device->index];
	rc = open(device, &gid);
	while (!is_fixed && (rc == -EADDRINUSE || rc == -EBUSY) && gid.raw[15] < LAST_LOOPBACK) {
		gid.raw[15]++;
		rc = open(device, &gid);
	}
	device->link.gid = gid;
	if (rc == 0 && !is_fixed && device->index == 0 && gid.raw[15] != 1)
		explain_other(device);
	if (!is_fixed && (rc == -EBUSY || (rc == -EADDRINUSE && !taken_everywhere())))
		ctl_log(CTL_LOG_ERROR,
			"all of 127.0.0.1 to 127.0.0.%d are in use: choose an address with "
			"RXE_DM_ADDRESS",
			LAST_LOOPBACK);
	else if (rc)
		explain(&gid, rc);
	return rc;
}

static void find_interface(struct device *device)
{
	device->link.if_index = udp_addr_ifindex(&device->link.gid);
	if (!device->link.if_index || !if_indextoname(device->link.if_index, device->link.if_name))
		device->link.if_name[0] = '\0';
}

/* bind() accepts the address of an interface that is down, but no packet would arrive. */
static int check_interface(const struct device *device)
{
	struct ifreq req = { 0 };
	int fd, rc;

	memcpy(req.ifr_name, device->link.if_name, sizeof(device->link.if_name));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return limit_explain(-errno, "the state of the interface %s cannot be read",
				     device->link.if_name);
	rc = device->link.if_name[0] ? ioctl(fd, SIOCGIFFLAGS, &req) : -1;
	close(fd);
	if (rc || req.ifr_flags & IFF_UP)
		return 0;
	ctl_log(CTL_LOG_ERROR, "the interface %s is down: 'ip link set %s up'",
		device->link.if_name, device->link.if_name);
	return -ENETDOWN;
}

static int open_sockets(struct device *device, const struct ctl_settings *settings)
{
	const int rc = open_at(device, settings, open_udp);

	if (rc)
		return rc;
	device->link.slots = device->link.udp.slots;
	device->link.rcvbuf = device->link.udp.rcvbuf;
	device->link.max_mtu = udp_max_mtu(&device->link.gid);
	if (!settings->num_addresses && device->index == 0)
		explain_loopback(device);
	find_interface(device);
	return check_interface(device);
}

/* A device on an interface: the address is the device's own, and not the kernel's. */
static int open_interface(struct device *device, const struct ctl_settings *settings)
{
	int rc = open_at(device, settings, lock_address);

	if (rc)
		return rc;
	device->link.if_index = if_nametoindex(settings->interface);
	memcpy(device->link.if_name, settings->interface, sizeof(device->link.if_name));
	rc = check_interface(device);
	return rc ? rc : ethernet_device_open(device, settings);
}

/* The lock is all that keeps other devices from the address: no packet leaves the memory. */
static int open_memory(struct device *device, const struct ctl_settings *settings)
{
	const int rc = open_at(device, settings, lock_address);

	if (rc)
		return rc;
	find_interface(device);
	return memory_device_open(device);
}

/* Without steering, a device that needs no other machine has its packets in memory. */
static int open_without_steering(struct device *device, const struct ctl_settings *settings)
{
	const bool is_local =
		!settings->num_addresses || udp_addr_is_loopback(&settings->address[device->index]);

	if (settings->link == CTL_LINK_UDP || !is_local) {
		ctl_log(CTL_LOG_ERROR,
			"rxe_dm%u cannot have UDP sockets: " NO_STEERING
			". '--link memory' serves the programs of one device",
			device->index);
		return -EOPNOTSUPP;
	}
	ctl_log(CTL_LOG_WARNING,
		"rxe_dm%u has its packets in memory, as by '--link memory': " NO_STEERING
		". Its programs reach each other, and no other device",
		device->index);
	device->link.kind = CTL_LINK_MEMORY;
	device->link.is_fallback = true;
	return open_memory(device, settings);
}

int address_open(struct device *device, const struct ctl_settings *settings)
{
	device->link.slots = settings->slots;
	device->link.kind = CTL_LINK_UDP;
	if (settings->link == CTL_LINK_AUTO || settings->link == CTL_LINK_UDP)
		return udp_cannot_steer() ? open_without_steering(device, settings)
					  : open_sockets(device, settings);
	device->link.kind = (enum ctl_link)settings->link;
	return device->link.kind == CTL_LINK_ETHERNET ? open_interface(device, settings)
						      : open_memory(device, settings);
}

void address_close(struct device *device)
{
	if (device->link.lock.source.fd < 0)
		return;
	local_peers_close(device);
	time_wait_fini(device);
	gsi_close(device);
	udp_group_close(&device->link.udp);
	ethernet_device_close(device);
	memory_hub_close(&device->link.memory.hub);
	unlock_address(device);
}
