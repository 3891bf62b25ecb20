// SPDX-License-Identifier: MIT
/* The files of one device. Names and formats are those of Linux 6.1, of a RoCE adapter; the
 * counters in hw_counters have rdma_rxe's names, and ours follow. */
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/profile.h"
#include "lib/control/shared.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/slot.h"
#include "rxe_dm/server/sysfs/device.h"
#include "rxe_dm/server/sysfs/file.h"
#include "rxe_dm/server/sysfs/sysfs.h"

#define UVERBS_MAJOR 231 /* also of umad nodes */
#define UVERBS_MINOR 192

struct place {
	int root;
	bool *ok;
	uint32_t index;
};

/* The path of an attribute: of the device, of its port, and so on. */
struct path {
	char text[160];
};

__attribute__((format(printf, 1, 2))) static struct path path(const char *format, ...)
{
	struct path ret;
	va_list args;

	va_start(args, format);
	vsnprintf(ret.text, sizeof(ret.text), format, args);
	va_end(args);
	return ret;
}

#define DEVICE "sys/class/infiniband/rxe_dm%u"
#define PORT   DEVICE "/ports/1"
#define UVERBS "sys/class/infiniband_verbs/uverbs%u"
#define UMAD   "sys/class/infiniband_mad/umad%u"

#define FOLDER(to, where) sysfs_folder((to)->root, (to)->ok, path(where, (to)->index).text)
#define TEXT(to, where, value)                                                                     \
	sysfs_write((to)->root, (to)->ok, path(where, (to)->index).text, value)

static struct path guid_text(uint64_t guid)
{
	uint8_t b[8];

	memcpy(b, &guid, sizeof(b));
	return path("%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6],
		    b[7]);
}

static const char *gid_text(const struct gid *gid, struct path *ret)
{
	const uint8_t *b = gid->raw;
	int len = 0;

	for (int i = 0; i < 16; i += 2)
		len += snprintf(ret->text + len, sizeof(ret->text) - (size_t)len, "%s%02x%02x",
				i ? ":" : "", b[i], b[i + 1]);
	return ret->text;
}

static void write_gid(const struct place *to, const struct device *device, uint32_t i)
{
	const struct gid *gid = &device->shared->gids[i];
	struct path value;
	const struct path type = path(PORT "/gid_attrs/types/%u", to->index, i);
	const struct path ndev = path(PORT "/gid_attrs/ndevs/%u", to->index, i);

	sysfs_write(to->root, to->ok, path(PORT "/gids/%u", to->index, i).text,
		    gid_text(gid, &value));
	if (gid_is_zero(gid)) { /* Linux: reading them fails */
		unlinkat(to->root, type.text, 0);
		unlinkat(to->root, ndev.text, 0);
		return;
	}
	sysfs_write(to->root, to->ok, type.text, "RoCE v2");
	sysfs_write(to->root, to->ok, ndev.text, device->link.if_name);
}

static void write_state(const struct place *to, const struct device *device, uint32_t state)
{
	const bool up = state == IBV_PORT_ACTIVE;

	TEXT(to, PORT "/state", up ? "4: ACTIVE" : "1: DOWN");
	TEXT(to, PORT "/phys_state", up ? "5: LinkUp" : "3: Disabled");
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++)
		write_gid(to, device, i);
}

struct count {
	const char *name; /* below the port */
	uint64_t value;
};

/* What the performance management of IBTA 16.1.3 counts, as far as it is counted here. Data is in
 * words of four bytes. */
static size_t fill_counts(const struct device *device, struct count ret[static SYSFS_MAX_COUNTS])
{
	struct rxe_counters c;
	struct ctl_lost lost;
	size_t n = 0;

	ctl_total_counters(device->shared, &c);
	ctl_total_lost(device->shared, &lost);
	ret[n++] = (struct count){ "counters/port_xmit_data", c.sent_bytes / 4 };
	ret[n++] = (struct count){ "counters/port_rcv_data", c.rcvd_bytes / 4 };
	ret[n++] = (struct count){ "counters/port_xmit_packets", c.sent_pkts };
	ret[n++] = (struct count){ "counters/port_rcv_packets", c.rcvd_pkts };
	ret[n++] = (struct count){ "counters/port_rcv_errors", c.rcvd_bad_icrc + c.rcvd_malformed };
	ret[n++] = (struct count){ "counters/port_xmit_discards", c.send_err };
	ret[n++] =
		(struct count){ "counters/excessive_buffer_overrun_errors", lost.link_recv_drops };
#define X(name) ret[n++] = (struct count){ "counters/" name, 0 };
	X("port_rcv_remote_physical_errors")
	X("port_rcv_switch_relay_errors")
	X("port_xmit_constraint_errors")
	X("port_rcv_constraint_errors")
	X("port_xmit_wait")
	X("local_link_integrity_errors")
	X("link_error_recovery")
	X("link_downed")
	X("symbol_error")
	X("VL15_dropped")
#undef X
#define X(name) ret[n++] = (struct count){ "hw_counters/" #name, c.name };
	RXE_COUNTERS(X)
#undef X
#define X(name) ret[n++] = (struct count){ "hw_counters/" #name, lost.name };
	CTL_LOST(X)
#undef X
	return n;
}

/* Programs take the interface's addresses for the device's: those of lo are not where a device has
 * another one of 127.0.0.0/8. */
static bool has_our_address(const struct device *device)
{
	struct ifaddrs *all, *at;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (at = all; at && !found; at = at->ifa_next) {
		struct gid gid = { 0 };

		if (!at->ifa_addr || strcmp(at->ifa_name, device->link.if_name) != 0)
			continue;
		if (at->ifa_addr->sa_family == AF_INET)
			gid_set_v4(&gid,
				   &((const struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr);
		else if (at->ifa_addr->sa_family == AF_INET6)
			memcpy(gid.raw,
			       &((const struct sockaddr_in6 *)(void *)at->ifa_addr)->sin6_addr,
			       sizeof(gid.raw));
		found = gid_equal(&gid, &device->link.gid);
	}
	freeifaddrs(all);
	return found;
}

static void make_attributes(const struct place *to, const struct device *device)
{
	const struct ctl_profile *profile = &device->instance->profile;

	FOLDER(to, DEVICE);
	TEXT(to, DEVICE "/node_type", "1: CA");
	TEXT(to, DEVICE "/node_guid", guid_text(device->guids.node).text);
	TEXT(to, DEVICE "/sys_image_guid", guid_text(device->guids.system_image).text);
	TEXT(to, DEVICE "/node_desc", path("rxe_dm%u", to->index).text);
	TEXT(to, DEVICE "/fw_ver", profile->fw_ver);
	TEXT(to, DEVICE "/hca_type", profile->hca_type);
	TEXT(to, DEVICE "/board_id", profile->board_id);
	TEXT(to, DEVICE "/hw_rev", path("%x", profile->hw_ver).text);
	TEXT(to, DEVICE "/uevent", path("NAME=rxe_dm%u", to->index).text);
	FOLDER(to, DEVICE "/device");
	TEXT(to, DEVICE "/device/numa_node", "-1");
	if (has_our_address(device)) {
		FOLDER(to, DEVICE "/device/net");
		sysfs_link(to->root, to->ok,
			   path(DEVICE "/device/net/%s", to->index, device->link.if_name).text,
			   path("/sys/class/net/%s", device->link.if_name).text);
	}
	FOLDER(to, DEVICE "/device/infiniband");
	sysfs_link(to->root, to->ok,
		   path(DEVICE "/device/infiniband/rxe_dm%u", to->index, to->index).text, "../..");
	FOLDER(to, DEVICE "/device/infiniband_verbs");
	sysfs_link(to->root, to->ok,
		   path(DEVICE "/device/infiniband_verbs/uverbs%u", to->index, to->index).text,
		   path("../../../../infiniband_verbs/uverbs%u", to->index).text);
}

static void make_port(const struct place *to, const struct device *device)
{
	char rate[CTL_PROFILE_RATE];

	FOLDER(to, DEVICE "/ports");
	FOLDER(to, PORT);
	FOLDER(to, PORT "/gids");
	FOLDER(to, PORT "/gid_attrs");
	FOLDER(to, PORT "/gid_attrs/types");
	FOLDER(to, PORT "/gid_attrs/ndevs");
	FOLDER(to, PORT "/pkeys");
	FOLDER(to, PORT "/counters");
	FOLDER(to, PORT "/hw_counters");
	TEXT(to, PORT "/rate", ctl_profile_rate(&device->instance->profile, rate));
	TEXT(to, PORT "/lid", "0x0");
	TEXT(to, PORT "/lid_mask_count", "0");
	TEXT(to, PORT "/sm_lid", "0x0");
	TEXT(to, PORT "/sm_sl", "0");
	TEXT(to, PORT "/cap_mask",
	     path("0x%08x", (unsigned int)(IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS)).text);
	TEXT(to, PORT "/link_layer", "Ethernet");
	TEXT(to, PORT "/pkeys/0", path("0x%04x", CTL_PKEY).text);
	TEXT(to, PORT "/hw_counters/lifespan", "1000"); /* milliseconds */
}

/* The device's entries in the classes of its nodes. */
static void make_nodes(const struct place *to)
{
	const struct path name = path("rxe_dm%u", to->index);
	const struct path device = path("../../infiniband/rxe_dm%u/device", to->index);

	FOLDER(to, UVERBS);
	TEXT(to, UVERBS "/ibdev", name.text);
	TEXT(to, UVERBS "/abi_version", "1");
	TEXT(to, UVERBS "/dev", path("%u:%u", UVERBS_MAJOR, UVERBS_MINOR + to->index).text);
	sysfs_link(to->root, to->ok, path(UVERBS "/device", to->index).text, device.text);
	FOLDER(to, UMAD);
	TEXT(to, UMAD "/ibdev", name.text);
	TEXT(to, UMAD "/port", "1");
	TEXT(to, UMAD "/dev", path("%u:%u", UVERBS_MAJOR, to->index).text);
	sysfs_link(to->root, to->ok, path(UMAD "/device", to->index).text, device.text);
	sysfs_node(to->root, to->ok, path("dev/infiniband/uverbs%u", to->index).text);
}

/* Writes the counters that differ from what the files hold. */
static void write_counts(const struct place *to, const struct device *device,
			 struct sysfs_device *held)
{
	struct count now[SYSFS_MAX_COUNTS];

	for (size_t i = 0, n = fill_counts(device, now); i < n; i++) {
		if (held->count[i] == now[i].value)
			continue;
		held->count[i] = now[i].value;
		sysfs_write(to->root, to->ok, path(PORT "/%s", to->index, now[i].name).text,
			    path("%" PRIu64, now[i].value).text);
	}
}

void sysfs_make_device(int root, bool *ok, const struct device *device, struct sysfs_device *ret)
{
	const struct place to = { .root = root, .ok = ok, .index = device->index };

	ret->generation = atomic_load(&device->shared->faults.generation);
	ret->port_state = atomic_load(&device->shared->port_state);
	make_attributes(&to, device);
	make_port(&to, device);
	write_state(&to, device, ret->port_state);
	make_nodes(&to);
	memset(ret->count, 0xff, sizeof(ret->count)); /* no counter has that value */
	write_counts(&to, device, ret);
}

void sysfs_update_state(int root, const struct device *device, struct sysfs_device *held)
{
	const uint32_t generation = atomic_load(&device->shared->faults.generation);
	const uint32_t state = atomic_load(&device->shared->port_state);
	bool ok = true;
	const struct place to = { .root = root, .ok = &ok, .index = device->index };

	if (generation == held->generation && state == held->port_state)
		return;
	held->generation = generation;
	held->port_state = state;
	write_state(&to, device, state);
}

void sysfs_update_counters(int root, struct device *device, struct sysfs_device *held)
{
	bool ok = true;
	const struct place to = { .root = root, .ok = &ok, .index = device->index };

	slots_update_lost(device);
	write_counts(&to, device, held);
}
