// SPDX-License-Identifier: MIT
/* Start, service and end of an instance. The server binds the name first, so that only one of two
 * goes on, then starts its devices. */
#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "emu/min.h"
#include "lib/control/log.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "rxe_dm/server/cm/channel.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/fault.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/limit.h"
#include "rxe_dm/server/link/address.h"
#include "rxe_dm/server/link/time_wait.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/memory.h"
#include "rxe_dm/server/random.h"
#include "rxe_dm/server/slot.h"
#include "rxe_dm/server/sysfs/sysfs.h"

#define WAIT_NS		1000000u /* a call waits this long for other processes at a time */
#define FIRST_CLIENT_NS (5 * NSEC_PER_SEC) /* shortest wait of a new server for its first program */
#define NAME_TRIES	200
#define NAME_PAUSE_MS	10

static void client_accepted(struct listener *listener, int fd)
{
	struct instance *instance = container_of(listener, struct instance, clients);

	if (instance->conns.num >= MAX_CONNS)
		close(fd);
	else
		conn_open(instance, fd);
}

static void signals_ready(struct loop_source *source, uint32_t events)
{
	struct instance *instance = container_of(source, struct instance, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) == sizeof(info))
		instance->life.ending = true;
}

static int watch_signals(struct instance *instance)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	instance->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	instance->signals.ready = signals_ready;
	if (instance->signals.fd < 0)
		return -errno;
	return loop_add(&instance->loop, &instance->signals, EPOLLIN);
}

/* The name is taken: by another server of this user, or by some other process? */
static enum instance_result explain_holder(const struct ctl_name *name, const char *instance)
{
	pid_t pid = 0;
	uid_t uid = 0;
	const int rc = listener_holder(name, &pid, &uid);

	if (rc == -EAGAIN || (rc == 0 && uid == geteuid()))
		return INSTANCE_BUSY;
	if (rc == 0)
		ctl_log(CTL_LOG_ERROR,
			"the name of instance '%s' is taken by process %d of user %u: choose "
			"another one with --instance or RXE_DM_INSTANCE",
			instance, (int)pid, (unsigned int)uid);
	else
		ctl_log(CTL_LOG_ERROR,
			"the name of instance '%s' is taken by a process that does not answer ('ss "
			"-xlp' shows it): choose another one with --instance or RXE_DM_INSTANCE",
			instance);
	return INSTANCE_FAILED;
}

/* Returns the listening control socket. Of several servers that start at once, one binds the name
 * and the others wait here until that one listens or has exited. -EADDRINUSE: another process holds
 * the name. */
static int bind_name(const struct ctl_name *name)
{
	int fd = listener_bind(name, SOCK_SEQPACKET);
	pid_t pid;
	uid_t uid;

	for (int i = 0; i < NAME_TRIES && fd == -EADDRINUSE &&
			listener_holder(name, &pid, &uid) == -ECONNREFUSED;
	     i++) {
		poll(NULL, 0, NAME_PAUSE_MS);
		fd = listener_bind(name, SOCK_SEQPACKET);
	}
	return fd;
}

static enum instance_result take_name(struct instance *instance)
{
	struct ctl_name name;
	int fd, rc;

	ctl_name_server(&name, geteuid(), instance->settings.instance);
	fd = bind_name(&name);
	if (fd == -EADDRINUSE)
		return explain_holder(&name, instance->settings.instance);
	instance->clients = (struct listener){ .all = &instance->listeners,
					       .loop = &instance->loop,
					       .source.fd = fd < 0 ? -1 : fd,
					       .accepted = client_accepted };
	rc = fd < 0 ? fd : listener_watch(&instance->clients);
	if (rc == 0)
		return INSTANCE_UP;
	limit_explain(rc, "no control socket");
	return INSTANCE_FAILED;
}

static enum instance_result bring_up(struct instance *instance)
{
	struct ctl_settings *settings = &instance->settings;
	enum instance_result result;
	int rc = loop_init(&instance->loop);

	if (rc == 0)
		rc = local_peers_init(instance);
	if (rc == 0)
		rc = watch_signals(instance);
	if (rc) {
		limit_explain(rc, "no event loop");
		return INSTANCE_FAILED;
	}
	result = take_name(instance);
	if (result != INSTANCE_UP)
		return result;
	if (!random_check())
		return INSTANCE_FAILED;
	random_fill(&instance->life.id, sizeof(instance->life.id));
	if (!limit_load_profile(&instance->profile, settings->profile))
		return INSTANCE_FAILED;
	limit_fit_slots(settings);
	for (uint32_t i = 0; i < settings->devices; i++) {
		if (device_init(&instance->devices[i], instance, i))
			return INSTANCE_FAILED;
		instance->num_devices++;
		/* Also where the settings left the choice to the server. */
		settings->address[i] = instance->devices[i].link.gid;
		if (settings->faults[0] && faults_load(&instance->devices[i], settings->faults))
			return INSTANCE_FAILED;
	}
	if (cm_open(instance)) {
		ctl_log(CTL_LOG_ERROR, "no memory for the connection manager");
		return INSTANCE_FAILED;
	}
	settings->num_addresses = instance->num_devices;
	local_peers_greet(instance);
	sysfs_resume(instance);
	return INSTANCE_UP;
}

enum instance_result instance_init(struct instance *ret, const struct ctl_settings *settings,
				   bool persistent)
{
	enum instance_result result;

	assert(settings->devices >= 1 && settings->devices <= CTL_DEVICE_MAX);
	assert(!settings->num_addresses || settings->num_addresses == settings->devices);
	memset(ret, 0, sizeof(*ret));
	ret->settings = *settings;
	ret->life.persistent = persistent;
	ret->loop.epoll_fd = ret->clients.source.fd = ret->signals.fd = -1;
	ret->local_peers.loop.epoll_fd = -1;
	listeners_init(&ret->listeners);
	ret->life.started_ns = ret->life.idle_since_ns = clock_now_ns();
	ret->life.linger_ns = settings->linger_s * NSEC_PER_SEC;
	if (ret->life.linger_ns < FIRST_CLIENT_NS)
		ret->life.linger_ns = FIRST_CLIENT_NS;
	result = bring_up(ret);
	if (result != INSTANCE_UP)
		instance_fini(ret);
	return result;
}

static bool is_used(const struct instance *instance)
{
	if (instance->conns.num_programs)
		return true;
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		if (instance->devices[i].contexts || instance->devices[i].captures.running ||
		    instance->devices[i].faults.count)
			return true;
	}
	return sysfs_in_use(instance);
}

/* Returns the end of the linger time; UINT64_MAX: the server stays. */
static uint64_t linger_end_ns(struct instance *instance, uint64_t now_ns)
{
	if (is_used(instance)) {
		instance->life.idle_since_ns = UINT64_MAX;
		instance->life.linger_ns = instance->settings.linger_s * NSEC_PER_SEC;
	} else if (instance->life.idle_since_ns == UINT64_MAX) {
		instance->life.idle_since_ns = now_ns;
	}
	if (instance->life.persistent || instance->life.idle_since_ns == UINT64_MAX)
		return UINT64_MAX;
	return instance->life.idle_since_ns + instance->life.linger_ns;
}

/* Continues each call that has more to do, or waits for other processes, by one step. Returns when
 * to do so again. conn_resume() may free its own connection, but ends no other one, so next stays.
 * Between two turns every source of the loop that is ready is handled once: a long call delays
 * others by one step. */
static uint64_t resume_calls(const struct instance *instance, uint64_t now_ns)
{
	struct conn *conn, *next;
	uint64_t due_ns = UINT64_MAX;

	DL_FOREACH_SAFE2(instance->conns.working, conn, next, wnext)
	{
		switch (conn_resume(conn)) {
		case 0: break;
		case SERVE_MORE: due_ns = now_ns; break;
		case SERVE_WAIT: due_ns = min_u64(due_ns, now_ns + WAIT_NS); break;
		}
	}
	return due_ns;
}

/* What devices do by the time. Each returns when it is due next; UINT64_MAX: not by time. */
static uint64_t (*const device_jobs[])(struct device *device, uint64_t now_ns) = {
	memory_device_settle, ranges_settle, time_wait_settle, fault_run, gsi_run,
};

static uint64_t run_jobs(struct instance *instance, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;

	gsi_deliver(instance);
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		for (size_t job = 0; job < sizeof(device_jobs) / sizeof(device_jobs[0]); job++)
			due_ns = min_u64(due_ns, device_jobs[job](&instance->devices[i], now_ns));
	}
	due_ns = min_u64(due_ns, cm_run(instance, now_ns));
	due_ns = min_u64(due_ns, sysfs_run(instance, now_ns));
	due_ns = min_u64(due_ns, listeners_resume(&instance->listeners, now_ns));
	return instance->cm.local ? now_ns : due_ns;
}

/* Reports the end of the devices to every process: queue pairs flush, and nothing hangs. */
static void announce_end(struct instance *instance)
{
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		struct device *device = &instance->devices[i];

		atomic_store(&device->shared->port_state, IBV_PORT_DOWN);
		atomic_store(&device->shared->ended, 1);
		slots_send_event(device, IBV_EVENT_DEVICE_FATAL);
	}
}

int instance_run(struct instance *instance)
{
	int rc = 0;

	while (!instance->life.ending) {
		const uint64_t now_ns = clock_now_ns();
		uint64_t due_ns = resume_calls(instance, now_ns);
		const uint64_t end_ns = linger_end_ns(instance, now_ns);

		if (end_ns <= now_ns)
			break;
		due_ns = min_u64(due_ns, min_u64(end_ns, run_jobs(instance, now_ns)));
		rc = loop_once(&instance->loop, loop_timeout_ms(due_ns, clock_now_ns()));
		if (rc < 0) {
			ctl_log(CTL_LOG_ERROR,
				"the event loop failed, the server ends, and programs lose their "
				"devices: %s",
				strerror(-rc));
			break;
		}
	}
	announce_end(instance);
	return rc < 0 ? rc : 0;
}

void instance_fini(struct instance *instance)
{
	/* While the name is taken: the next server has the same folder. */
	sysfs_close(instance);
	/* While the devices can still send: peers receive the end of their connections. */
	cm_close(instance);
	/* Addresses first: a program that finds the name free starts a server, which needs them. */
	for (uint32_t i = 0; i < instance->num_devices; i++)
		address_close(&instance->devices[i]);
	listener_close(&instance->clients);
	while (instance->conns.all)
		conn_close(instance->conns.all);
	assert(instance->conns.num == 0);
	while (instance->num_devices)
		device_fini(&instance->devices[--instance->num_devices]);
	loop_close(&instance->loop, &instance->signals);
	local_peers_fini(instance);
	if (instance->loop.epoll_fd >= 0)
		close(instance->loop.epoll_fd);
	listeners_fini(&instance->listeners);
	findings_close(&instance->findings);
}
