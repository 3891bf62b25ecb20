// SPDX-License-Identifier: MIT
/* A connection to the device server: finding it, the hello, calls, and what fork() does to it.
 *
 * A child of fork() has its parent's socket, but must not use it: two processes on one conversation. The child closes it,
 * and its first call makes a connection of its own. Holding no copy also lets the server see the parent's end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/agree.h"
#include "lib/control/cancel.h"
#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/process.h"
#include "lib/control/ready.h"
#include "lib/control/settings.h"
#include "lib/control/socket.h"
#include "lib/control/start.h"

/* A server that has not answered for so long is looked at: only one that has been stopped is given up. */
#define HELLO_PATIENCE_S 10
#define CALL_PATIENCE_S	 60
#define CONNECT_TRIES	 400
#define CONNECT_PAUSE_NS 5000000
#define FULL_TRIES	 30

static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ctl_client *clients;

static void before_fork(void)
{
	struct ctl_client *client;

	pthread_mutex_lock(&clients_lock);
	DL_FOREACH (clients, client)
		pthread_mutex_lock(&client->lock);
}

static void after_fork_parent(void)
{
	struct ctl_client *client;

	DL_FOREACH (clients, client)
		pthread_mutex_unlock(&client->lock);
	pthread_mutex_unlock(&clients_lock);
}

static void forget_parent(struct ctl_client *client)
{
	close(client->sock);
	client->sock = -1;
	client->forked = true;
	ctl_attach_forget(client);
}

static void after_fork_child(void)
{
	struct ctl_client *client;
	NO_CANCEL;

	DL_FOREACH (clients, client) {
		forget_parent(client);
		pthread_mutex_unlock(&client->lock);
	}
	pthread_mutex_unlock(&clients_lock);
}

static void handle_fork(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void set_patience(int sock, int seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static void own_hello(struct ctl_hello *ret, uint32_t role)
{
	*ret = (struct ctl_hello){
		.magic = CTL_MAGIC,
		.protocol = CTL_PROTOCOL,
		.layout = CTL_LAYOUT,
		.role = role,
		.pid = getpid(),
		.version = RXE_DM_VERSION,
	};
}

static int explain_skew(const struct ctl_client *client, const struct ctl_hello *theirs)
{
	ctl_log(CTL_LOG_ERROR,
		"the device server of instance '%s' (process %d) is version %.28s, protocol %u; "
		"this "
		"is version %s, protocol %u%s: end it with 'rxe_dm stop%s%s', then try again",
		client->instance, (int)client->server_pid, theirs->version, theirs->protocol,
		RXE_DM_VERSION, CTL_PROTOCOL,
		theirs->protocol == CTL_PROTOCOL ? " of another build" : "",
		strcmp(client->instance, "default") ? " --instance " : "",
		strcmp(client->instance, "default") ? client->instance : "");
	return -EPROTO;
}

/* One message from the server, with its descriptors. Slow is no failure, the machine may be busy; an exited server has closed
 * the socket. -ETIMEDOUT: the server is stopped. */
static ssize_t await_message(const struct ctl_client *client, int sock, void *msg, size_t len,
			     int *fds, size_t max_fds, size_t *ret_num)
{
	bool told = false;
	ssize_t n;

	for (;;) {
		n = ctl_recv(sock, msg, len, fds, max_fds, ret_num, 0);
		if (n != -EAGAIN)
			return n;
		if (ctl_process_is_stopped(client->server_pid))
			break;
		if (!told)
			ctl_log(CTL_LOG_NOTICE,
				"the device server of instance '%s' (process %d) takes its time to "
				"answer: still waiting",
				client->instance, (int)client->server_pid);
		told = true;
	}
	ctl_log(CTL_LOG_ERROR,
		"the device server of instance '%s' (process %d) does not answer, it is stopped: "
		"'kill -CONT %d' lets it go on",
		client->instance, (int)client->server_pid, (int)client->server_pid);
	return -ETIMEDOUT;
}

static int say_hello(struct ctl_client *client, int sock)
{
	struct ctl_hello hello, theirs = { 0 };
	ssize_t n;
	int rc;

	own_hello(&hello, client->role);
	rc = ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0);
	if (rc)
		return rc == -EPIPE || rc == -ECONNRESET ? -ESHUTDOWN : rc;
	n = await_message(client, sock, &theirs, sizeof(theirs), NULL, 0, NULL);
	if (n == 0 || n == -ECONNRESET)
		return -ESHUTDOWN;
	if (n < 0)
		return (int)n;
	if (n != sizeof(theirs) || memcmp(theirs.magic, hello.magic, sizeof(hello.magic)) != 0) {
		memcpy(theirs.version, "unknown", 8);
		return explain_skew(client, &theirs);
	}
	theirs.version[sizeof(theirs.version) - 1] = '\0';
	memcpy(client->server_version, theirs.version, sizeof(theirs.version));
	if (theirs.protocol != CTL_PROTOCOL || theirs.layout != CTL_LAYOUT)
		return explain_skew(client, &theirs);
	if (theirs.status == 0)
		client->server_id = theirs.server_id;
	return theirs.status;
}

/* Anybody may take a name in the abstract namespace, so look who it is before saying anything. */
static int check_server(struct ctl_client *client, int sock)
{
	uid_t uid;
	int rc = ctl_peer(sock, &client->server_pid, &uid);

	if (rc)
		return rc;
	if (uid == geteuid())
		return 0;
	ctl_log(CTL_LOG_ERROR,
		"the name of instance '%s' is taken by process %d of user %u: choose another one "
		"with "
		"RXE_DM_INSTANCE",
		client->instance, (int)client->server_pid, (unsigned int)uid);
	return -EPERM;
}

/* -ECONNREFUSED: nobody listens; -ESHUTDOWN: it is just ending. */
static int try_connect(struct ctl_client *client)
{
	struct ctl_name name;
	int sock, rc;

	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	set_patience(sock, HELLO_PATIENCE_S);
	ctl_name_server(&name, geteuid(), client->instance);
	rc = connect(sock, (const struct sockaddr *)&name.addr, name.len) ? -errno : 0;
	if (rc == 0)
		rc = check_server(client, sock);
	if (rc == 0)
		rc = say_hello(client, sock);
	if (rc) {
		close(sock);
		return rc;
	}
	set_patience(sock, CALL_PATIENCE_S);
	client->sock = sock;
	client->pid = getpid();
	return 0;
}

static void pause_briefly(void)
{
	struct timespec ts = { .tv_nsec = CONNECT_PAUSE_NS };

	nanosleep(&ts, NULL);
}

static int connect_or_start(struct ctl_client *client, bool autostart)
{
	const char *args[] = { "start",	     "--auto",	       CTL_READY_OPTION,
			       "--instance", client->instance, NULL };
	int rc = -ECONNREFUSED, full = 0;

	for (int i = 0; i < CONNECT_TRIES; i++) {
		rc = try_connect(client);
		/* More programs wait to be accepted than the kernel lets: each try waits for a place. */
		if (rc == -EAGAIN && ++full < FULL_TRIES)
			continue;
		if (rc == -ESHUTDOWN) {
			pause_briefly();
			continue;
		}
		if (rc != -ECONNREFUSED || !autostart)
			return rc;
		rc = ctl_start_server(args);
		if (rc && rc != -EALREADY)
			return -ECONNREFUSED;
		if (rc)
			pause_briefly();
	}
	ctl_log(CTL_LOG_ERROR, "the device server of instance '%s' could not be reached",
		client->instance);
	return -ECONNREFUSED;
}

int ctl_connect_as(struct ctl_client **ret, const char *instance, enum ctl_role role,
		   bool autostart)
{
	static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
	struct ctl_client *client;
	int rc;
	NO_CANCEL;

	pthread_once(&fork_once, handle_fork);
	client = (struct ctl_client *)calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->role = role;
	snprintf(client->instance, sizeof(client->instance), "%s", instance);
	pthread_mutex_init(&client->lock, NULL);

	rc = connect_or_start(client, autostart);
	if (rc) {
		pthread_mutex_destroy(&client->lock);
		free(client);
		return rc;
	}
	pthread_mutex_lock(&clients_lock);
	DL_APPEND(clients, client);
	pthread_mutex_unlock(&clients_lock);
	*ret = client;
	return 0;
}

int ctl_connect(struct ctl_client **ret)
{
	const struct ctl_setting *setting = ctl_setting_find("instance");
	const char *asked = secure_getenv(setting->env);
	struct ctl_device device[CTL_DEVICE_MAX];
	struct ctl_settings settings;
	char why[CTL_WHY_MAX];
	size_t n;
	int rc;
	NO_CANCEL;

	ctl_settings_init(&settings);
	if (asked && *asked && !ctl_settings_set(&settings, setting, setting->env, asked, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return -EINVAL;
	}
	rc = ctl_connect_as(ret, settings.instance, CTL_ROLE_PROGRAM, true);
	if (rc == 0 && ctl_list_devices(*ret, device, CTL_DEVICE_MAX, &n) == 0)
		ctl_agree(settings.instance, device, n);
	return rc;
}

void ctl_disconnect(struct ctl_client *client)
{
	NO_CANCEL;

	if (!client)
		return;
	pthread_mutex_lock(&clients_lock);
	DL_DELETE(clients, client);
	pthread_mutex_unlock(&clients_lock);
	ctl_attach_release(client);
	if (client->sock >= 0)
		close(client->sock);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

bool ctl_alive(struct ctl_client *client)
{
	bool alive = true;
	char byte;
	NO_CANCEL;

	pthread_mutex_lock(&client->lock);
	if (client->dead)
		alive = false;
	else if (!client->forked)
		alive = recv(client->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
	pthread_mutex_unlock(&client->lock);
	return alive;
}

uint32_t ctl_generation(struct ctl_client *client)
{
	uint32_t generation;

	pthread_mutex_lock(&client->lock);
	generation = client->generation + (client->forked ? 1 : 0);
	pthread_mutex_unlock(&client->lock);
	return generation;
}

/* In the child after fork(): a process of its own from here on. */
static int reconnect(struct ctl_client *client)
{
	uint64_t server_id = client->server_id;
	int rc = try_connect(client);

	if (rc)
		return -ENODEV;
	client->forked = false;
	client->generation++;
	if (client->server_id != server_id)
		return -ENODEV; /* its contexts went with the other server */
	return ctl_attach_again(client);
}

static int finish_call(struct ctl_client *client, struct ctl_call *call, ssize_t n, size_t want_fds)
{
	if (n != sizeof(call->reply) || call->reply.op != call->req.op) {
		client->dead = true;
		return n == -ETIMEDOUT ? -ETIMEDOUT : -ENODEV;
	}
	if (call->reply.status == 0 && call->num_fds >= want_fds &&
	    call->num_fds - want_fds <= call->more_fds)
		return 0;
	/* The kernel leaves out descriptors that this process may not have. */
	if (call->reply.status == 0 && call->num_fds < want_fds)
		call->reply.status = -EMFILE;
	ctl_close_fds(call->fds, call->num_fds);
	call->num_fds = 0;
	return call->reply.status < 0 ? call->reply.status : -EPROTO;
}

static int exchange(struct ctl_client *client, struct ctl_call *call, size_t want_fds)
{
	ssize_t n;
	int rc;

	rc = ctl_send(client->sock, &call->req, sizeof(call->req), &call->in_fd,
		      call->in_fd >= 0 ? 1 : 0, 0);
	call->num_fds = 0;
	n = rc ? rc
	       : await_message(client, client->sock, &call->reply, sizeof(call->reply), call->fds,
			       CTL_MAX_FDS, &call->num_fds);
	return finish_call(client, call, n, want_fds);
}

int ctl_do_locked(struct ctl_client *client, struct ctl_call *call, size_t want_fds)
{
	int rc = 0;
	NO_CANCEL;

	if (!client->forked && client->pid != getpid())
		forget_parent(client);
	if (client->forked && !client->dead) {
		rc = reconnect(client);
		if (rc)
			client->dead = true;
	}
	if (client->dead)
		rc = -ENODEV;
	if (rc == 0)
		rc = exchange(client, call, want_fds);
	return rc;
}

int ctl_do(struct ctl_client *client, struct ctl_call *call, size_t want_fds)
{
	int rc;

	pthread_mutex_lock(&client->lock);
	rc = ctl_do_locked(client, call, want_fds);
	pthread_mutex_unlock(&client->lock);
	return rc;
}
