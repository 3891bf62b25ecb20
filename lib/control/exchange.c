// SPDX-License-Identifier: MIT
/* One connection to the server: the hello, then one request and one reply at a time. */
#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/process.h"
#include "lib/control/socket.h"
#include "net/link/descriptor.h"

/* Time to wait for an answer before the server's state is checked: only a stopped one fails. */
#define HELLO_TIMEOUT_S 10
#define CALL_TIMEOUT_S	60

static void set_timeout(int sock, int seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static int explain_skew(const struct ctl_client *client, const struct ctl_hello *theirs)
{
	ctl_log(CTL_LOG_ERROR,
		"the device server of instance '%s' (process %d) is version %.28s, protocol %u; "
		"this is version %s, protocol %u%s: end it with 'rxe_dm stop%s%s', then try again",
		client->instance, (int)client->server_pid, theirs->version, theirs->protocol,
		RXE_DM_VERSION, CTL_PROTOCOL,
		theirs->protocol == CTL_PROTOCOL ? " of another build" : "",
		strcmp(client->instance, "default") ? " --instance " : "",
		strcmp(client->instance, "default") ? client->instance : "");
	return -EPROTO;
}

/* Receives one message and its descriptors. A slow server is waited for, an exited one has closed
 * the socket. -ETIMEDOUT: the server is stopped. */
static ssize_t await_message(const struct ctl_client *client, int sock, void *msg, size_t len,
			     int *fds, size_t max_fds, size_t *ret_num)
{
	bool logged = false;
	ssize_t n;

	for (;;) {
		n = ctl_recv(sock, msg, len, fds, max_fds, ret_num, 0);
		if (n != -EAGAIN)
			return n;
		if (ctl_process_is_stopped(client->server_pid))
			break;
		if (!logged)
			ctl_log(CTL_LOG_WARNING,
				"the device server of instance '%s' (process %d) is slow to "
				"answer: still waiting",
				client->instance, (int)client->server_pid);
		logged = true;
	}
	ctl_log(CTL_LOG_ERROR,
		"the device server of instance '%s' (process %d) does not answer, it is stopped: "
		"'kill -CONT %d' lets it go on",
		client->instance, (int)client->server_pid, (int)client->server_pid);
	return -ETIMEDOUT;
}

static int say_hello(struct ctl_client *client, int sock)
{
	const struct ctl_hello hello = {
		.magic = CTL_MAGIC,
		.protocol = CTL_PROTOCOL,
		.layout = CTL_LAYOUT,
		.role = client->role,
		.pid = getpid(),
		.version = RXE_DM_VERSION,
	};
	struct ctl_hello theirs = { 0 };
	int rc = ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0);
	ssize_t n;

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

/* Any user may bind an abstract name: the listener's user is checked before the first message. */
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
		"with RXE_DM_INSTANCE",
		client->instance, (int)client->server_pid, (unsigned int)uid);
	return -EPERM;
}

int ctl_exchange_open(struct ctl_client *client)
{
	struct ctl_name name;
	int sock, rc;

	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	set_timeout(sock, HELLO_TIMEOUT_S);
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
	set_timeout(sock, CALL_TIMEOUT_S);
	client->sock = descriptor_keep(sock);
	client->pid = getpid();
	return 0;
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
	/* The kernel omits descriptors beyond this process's RLIMIT_NOFILE. */
	if (call->reply.status == 0 && call->num_fds < want_fds)
		call->reply.status = -EMFILE;
	ctl_close_fds(call->fds, call->num_fds);
	call->num_fds = 0;
	return call->reply.status < 0 ? call->reply.status : -EPROTO;
}

int ctl_exchange(struct ctl_client *client, struct ctl_call *call, size_t want_fds)
{
	ssize_t n;
	int rc;

	/* The program may have closed it. */
	rc = !descriptor_is_kept(client->sock)
		     ? -ENODEV
		     : ctl_send(client->sock, &call->req, sizeof(call->req), &call->in_fd,
				call->in_fd >= 0 ? 1 : 0, 0);
	call->num_fds = 0;
	n = rc ? rc
	       : await_message(client, client->sock, &call->reply, sizeof(call->reply), call->fds,
			       CTL_MAX_FDS, &call->num_fds);
	return finish_call(client, call, n, want_fds);
}
