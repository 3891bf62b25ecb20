// SPDX-License-Identifier: MIT
/* Greetings between the devices of one host, and the packet filter that follows from them. */
#include "rxe_dm/server/link/local_peers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/log.h"
#include "lib/control/process.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/listener.h"

/* Longest time to wait for the answers of servers that are not stopped: without an answer the
 * peers' first packets are dropped as foreign. */
#define ANSWERS_MS  5000
#define ANSWER_MS   20 /* between two looks for stopped servers */
#define NAME_PREFIX "rxe_dm/4791/"
#define MAGIC	    "rxe_dmL1"
#define LISTENS	    0x10000u /* flag in /proc/net/unix */

/* Each side sends one: first the server that has just started, then the other one, which lets its
 * packets pass by then. */
struct greeting {
	char magic[8];
	struct udp_local from;
};
static_assert(sizeof(struct greeting) == 8 + 16 + 2 * LINK_TX_PORTS, "no padding is sent");

struct local_peer {
	struct local_peer *prev, *next;
	struct loop_source source;
	struct device *device; /* the device of this server */
	bool awaited;	       /* was greeted first, and has not answered */
	bool known;	       /* has sent its greeting */
	bool greeted;	       /* our greeting has been sent */
	pid_t pid;	       /* of its server; 0: unknown */
	struct udp_local from;
};

void local_peers_name(struct ctl_name *ret, const struct gid *gid)
{
	char text[CTL_GID_STR_MAX];
	int len;

	*ret = (struct ctl_name){ .addr.sun_family = AF_UNIX };
	len = snprintf(ret->addr.sun_path + 1, sizeof(ret->addr.sun_path) - 1, NAME_PREFIX "%s",
		       ctl_gid_str(gid, text));
	ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* True: the process at the other end belongs to this user or to one of --allow-users. */
static bool may_send(const struct ctl_settings *settings, int fd, pid_t *ret_pid)
{
	uid_t uid;

	if (ctl_peer(fd, ret_pid, &uid))
		return false;
	for (uint32_t i = 0; i < settings->num_allowed_users; i++) {
		if (settings->allowed_user[i] == uid)
			return true;
	}
	return uid == geteuid() || settings->allow_all_users;
}

static void guard(struct device *device)
{
	struct udp_local known[UDP_MAX_LOCALS];
	struct local_peer *peer;
	size_t n = 0;
	int rc;

	if (device->instance->settings.allow_all_users)
		return;
	DL_FOREACH (device->instance->local_peers.list, peer) {
		if (peer->device == device && peer->known && n < UDP_MAX_LOCALS)
			known[n++] = peer->from;
	}
	rc = udp_group_guard(&device->link.udp, known, n);
	if (rc)
		ctl_log(CTL_LOG_ERROR,
			"rxe_dm%u: the packet filter of its receive sockets could not be set, "
			"packets of other devices of this host are dropped: %s",
			device->index, strerror(-rc));
}

static void peer_free(struct local_peer *peer)
{
	struct device *device = peer->device;
	struct local_peers *peers = &device->instance->local_peers;
	const bool known = peer->known;

	assert(peers->count > 0);
	loop_close(&peers->loop, &peer->source);
	DL_DELETE(peers->list, peer);
	peers->count--;
	free(peer);
	if (known)
		guard(device);
}

static bool send_greeting(struct local_peer *peer)
{
	struct greeting greeting = { .magic = MAGIC, .from.gid = peer->device->link.gid };

	memcpy(greeting.from.port, peer->device->link.udp.tx_port, sizeof(greeting.from.port));
	peer->greeted =
		ctl_send(peer->source.fd, &greeting, sizeof(greeting), NULL, 0, MSG_DONTWAIT) == 0;
	return peer->greeted;
}

static void peer_ready(struct loop_source *source, uint32_t events)
{
	struct local_peer *peer = container_of(source, struct local_peer, source);
	struct greeting got;
	ssize_t n = ctl_recv(source->fd, &got, sizeof(got), NULL, 0, NULL, MSG_DONTWAIT);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n != sizeof(got) || peer->known || memcmp(got.magic, MAGIC, sizeof(got.magic)) != 0 ||
	    gid_is_multicast(&got.from.gid)) {
		peer_free(peer);
		return;
	}
	peer->from = got.from;
	peer->known = true;
	peer->awaited = false;
	guard(peer->device);
	if (!peer->greeted && !send_greeting(peer))
		peer_free(peer);
}

/* Takes over the socket of a connection that this server made (awaited: for its answer) or
 * accepted. */
static void peer_new(struct device *device, int fd, bool awaited)
{
	struct local_peers *peers = &device->instance->local_peers;
	struct local_peer *peer = NULL;
	pid_t pid = 0;

	if (device->link.kind == CTL_LINK_UDP && peers->count < UDP_MAX_LOCALS &&
	    may_send(&device->instance->settings, fd, &pid))
		peer = (struct local_peer *)calloc(1, sizeof(*peer));
	if (!peer) {
		close(fd);
		return;
	}
	*peer = (struct local_peer){ .source = { .fd = fd, .ready = peer_ready },
				     .device = device,
				     .pid = pid };
	if ((awaited && !send_greeting(peer)) || loop_add(&peers->loop, &peer->source, EPOLLIN)) {
		close(fd);
		free(peer);
		return;
	}
	peer->awaited = awaited;
	DL_APPEND(peers->list, peer);
	peers->count++;
}

/* A connection: from another server, or from one that asks who holds the address (address.c). */
static void greeter_accepted(struct listener *listener, int fd)
{
	peer_new(container_of(listener, struct device, link.lock), fd, false);
}

static void greet(struct device *device, const struct gid *gid)
{
	struct ctl_name name;
	int fd;

	if (gid_equal(gid, &device->link.gid) || gid_is_v4(gid) != gid_is_v4(&device->link.gid))
		return;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	local_peers_name(&name, gid);
	if (connect(fd, (const struct sockaddr *)&name.addr, name.len))
		close(fd);
	else
		peer_new(device, fd, true);
}

/* A line of /proc/net/unix: "Num RefCount Protocol Flags Type St Inode @rxe_dm/4791/127.0.0.1". The
 * accepted connections of a server also have its name; only listening sockets have the flag. */
static bool parse_name(char *line, struct gid *ret)
{
	char *name = strstr(line, "@" NAME_PREFIX);
	unsigned int flags;

	if (!name || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & LISTENS))
		return false;
	name += sizeof("@" NAME_PREFIX) - 1;
	name[strcspn(name, "\n@")] = '\0';
	return ctl_gid_parse(ret, name);
}

static void greet_all(struct instance *instance)
{
	FILE *names = fopen("/proc/net/unix", "re");
	char line[256];
	struct gid gid;

	if (!names) {
		ctl_log(CTL_LOG_WARNING,
			"cannot read /proc/net/unix, which lists the devices of this host: packets "
			"of devices that run already are dropped, unless --allow-users is all");
		return;
	}
	while (fgets(line, sizeof(line), names)) {
		if (!parse_name(line, &gid))
			continue;
		for (uint32_t i = 0; i < instance->num_devices; i++) {
			if (instance->devices[i].link.kind == CTL_LINK_UDP)
				greet(&instance->devices[i], &gid);
		}
	}
	fclose(names);
}

static void forget_stopped(struct local_peers *peers)
{
	struct local_peer *peer;

	DL_FOREACH (peers->list, peer) {
		if (peer->awaited && ctl_process_is_stopped(peer->pid))
			peer->awaited = false;
	}
}

static bool awaits_answers(const struct local_peers *peers)
{
	const struct local_peer *peer;

	DL_FOREACH (peers->list, peer) {
		if (peer->awaited)
			return true;
	}
	return false;
}

void local_peers_greet(struct instance *instance)
{
	const uint64_t until_ns = clock_now_ns() + ANSWERS_MS * 1000000ull;
	struct local_peers *peers = &instance->local_peers;
	int n;

	greet_all(instance);
	while (awaits_answers(peers) && clock_now_ns() < until_ns) {
		n = loop_once(&peers->loop, ANSWER_MS);
		if (n < 0)
			return;
		if (n == 0)
			forget_stopped(peers);
	}
}

static void peers_ready(struct loop_source *source, uint32_t events)
{
	struct local_peers *peers = container_of(source, struct local_peers, source);

	(void)events;
	(void)loop_once(&peers->loop, 0);
}

int local_peers_init(struct instance *instance)
{
	struct local_peers *peers = &instance->local_peers;
	int rc = loop_init(&peers->loop);

	if (rc)
		return rc;
	peers->source = (struct loop_source){ .fd = peers->loop.epoll_fd, .ready = peers_ready };
	return loop_add(&instance->loop, &peers->source, EPOLLIN);
}

void local_peers_fini(struct instance *instance)
{
	if (instance->local_peers.loop.epoll_fd >= 0)
		close(instance->local_peers.loop.epoll_fd);
}

int local_peers_open(struct device *device)
{
	struct udp_group *group = &device->link.udp;
	int rc = 0;

	device->link.lock.all = &device->instance->listeners;
	device->link.lock.loop = &device->instance->local_peers.loop;
	device->link.lock.accepted = greeter_accepted;
	/* A server whose greeting is refused would drop our packets until it starts again. */
	device->link.lock.is_patient = true;
	if (device->link.kind == CTL_LINK_UDP && !device->instance->settings.allow_all_users)
		rc = udp_group_guard(group, NULL, 0);
	if (rc == 0)
		rc = listener_watch(&device->link.lock);
	return rc;
}

void local_peers_close(struct device *device)
{
	struct local_peers *peers = &device->instance->local_peers;
	struct local_peer *peer, *next;

	DL_FOREACH_SAFE (peers->list, peer, next) {
		if (peer->device != device)
			continue;
		peer->known = false; /* the group may be closed already */
		peer_free(peer);
	}
	if (device->link.lock.accepted)
		listener_unwatch(&device->link.lock);
}
