/* SPDX-License-Identifier: MIT */
/* Fuzz target: the device server with hostile clients, in this process. Connections are socket
 * pairs that the server is handed; the script turns its loop and sets its clock. Each well-formed
 * request gets one answer. After all clients have left, no object, key, slot, byte of the arena or
 * descriptor of theirs is left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/control/protocol.h"
#include "lib/control/settings.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/link/time_wait.h"
#include "tests/fuzz/control.h"

#define MAX_CLIENTS   4u
#define MAX_KNOWN     32u
#define MAX_CMD_FDS   8u
#define MAX_KEYS      128u
#define MAX_STEPS     120u
#define MAX_TURNS     400u
#define TURN_NS	      10000000ull
#define REQUEST_WORDS (sizeof(struct ctl_request) / 4)

struct client {
	int sock;	 /* -1: not connected */
	bool is_waiting; /* for an answer that the client did not receive yet */
};

enum step {
	STEP_CONNECT,
	STEP_REQUEST,
	STEP_BYTES,
	STEP_CLOSE,
	STEP_SETTLE,
	STEP_INSIDE,
	STEP_INTRODUCE,
	STEP_CLOSE_CMD,
	STEP_FAULT,	 /* a request about fault rules */
	STEP_FAULT_FILE, /* a file of fault rules */
	STEP_SPOIL,	 /* any bytes in a slot */
	STEP_RECORD,	 /* a process writes a TIME_WAIT record */
	STEP_DELAYED,	 /* a process writes the record of a delayed ACK */
	STEP_CAPTURED,	 /* any bytes in a capture's rings */
	STEP_PACKET,	 /* a packet from the network */
	STEP_CM,	 /* a request to the connection manager */
	STEP_CM_EVENT,	 /* a program reads an event of the connection manager */
	CONTROL_STEPS,
};

uint64_t __real_clock_now_ns(void);
uint64_t __wrap_clock_now_ns(void);
void __wrap_ctl_saved_write(const struct ctl_settings *settings, bool stays);

struct instance control_instance;
uint64_t control_now_ns;
uint32_t control_slot[CONTROL_KNOWN_SLOTS];

static int spare_fd, memory_fd; /* passed along with requests */
static int fds_at_first;

static struct client clients[MAX_CLIENTS];
static uint32_t known[MAX_KNOWN], num_known; /* handles that the server returned */
static uint32_t num_slots;
static uint64_t token;
static uint32_t keys[MAX_KEYS], num_keys; /* keys of granted regions */
static int cmd_fd[MAX_CMD_FDS];
static uint32_t num_cmd_fds;

uint64_t __wrap_clock_now_ns(void)
{
	return control_now_ns;
}

/* A fuzzer that is killed leaves no file. */
void __wrap_ctl_saved_write(const struct ctl_settings *settings, bool stays)
{
	(void)settings;
	(void)stays;
}

static int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	MUST(folder);
	while (readdir(folder))
		n++;
	(void)closedir(folder);
	return n;
}

static void silence(enum ctl_log_level level, const char *line)
{
	(void)level;
	MUST(line[0]);
	/* Log lines go to terminals and files, so they contain no control characters of other
	 * programs. */
	for (; *line; line++)
		MUST((uint8_t)*line >= ' ' && *line != 0x7f);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ctl_settings settings;
	sigset_t none;

	(void)argc;
	(void)argv;
	control_now_ns = __real_clock_now_ns();
	ctl_log_to(silence);
	ctl_settings_init(&settings);
	(void)snprintf(settings.instance, sizeof(settings.instance), "fuzz-%d", (int)getpid());
	settings.devices = 1;
	settings.slots = 4;
	settings.arena_bytes =
		(1u << 20) + (1u << 16); /* more than the server zeroes in one step */
	if (instance_init(&control_instance, &settings, true) != INSTANCE_UP) {
		(void)fprintf(stderr, "no device server can be had here\n");
		exit(EXIT_FAILURE);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	memory_fd = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(spare_fd >= 0 && memory_fd >= 0 && ftruncate(memory_fd, 8192) == 0);
	for (uint32_t i = 0; i < MAX_CLIENTS; i++)
		clients[i].sock = -1;
	control_slot_init();
	return 0;
}

void control_turn(void)
{
	struct conn *conn, *next;

	for (uint32_t i = 0; i < MAX_TURNS && loop_once(&control_instance.loop, 0) > 0; i++)
		;
	for (conn = control_instance.conns.all; conn; conn = next) {
		next = conn->next;
		if (conn->pending)
			conn_resume(conn);
	}
	gsi_deliver(&control_instance);
	(void)gsi_run(control_device(), control_now_ns);
	(void)cm_run(&control_instance, control_now_ns);
	(void)ranges_settle(control_device(), control_now_ns);
	(void)time_wait_settle(control_device(), control_now_ns);
	(void)fault_run(control_device(), control_now_ns);
	control_instance.life.ending = false;
	control_instance.life.persistent = true;
}

static void leave(struct client *client)
{
	if (client->sock >= 0)
		close(client->sock);
	*client = (struct client){ .sock = -1 };
}

static void connect_client(struct client *client, struct take *take)
{
	struct ctl_hello hello = { .magic = CTL_MAGIC,
				   .protocol = CTL_PROTOCOL,
				   .layout = CTL_LAYOUT,
				   .role = CTL_ROLE_PROGRAM };
	const uint8_t spoil = take_u8(take);
	int pair[2];

	leave(client);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	MUST(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
	conn_open(&control_instance, pair[0]);
	client->sock = pair[1];
	if (spoil & 1)
		hello.role = CTL_ROLE_COMMAND;
	if (spoil & 0x80)
		((uint8_t *)&hello)[take_u8(take) % sizeof(hello)] = take_u8(take);
	(void)ctl_send(client->sock, &hello, sizeof(hello), NULL, 0, MSG_DONTWAIT);
	control_turn();
	if (ctl_recv(client->sock, &hello, sizeof(hello), NULL, 0, NULL, MSG_DONTWAIT) !=
		    sizeof(hello) ||
	    hello.status != 0)
		leave(client);
}

static void keep_cmd_fd(int fd)
{
	if (num_cmd_fds == MAX_CMD_FDS) {
		close(fd);
		return;
	}
	cmd_fd[num_cmd_fds++] = fd;
}

static const struct rxe_mr *entry_of(uint32_t key)
{
	return &control_instance.devices[0].shared->mrs.entry[rxe_key_index(key)];
}

/* Checks that a granted region is inside of what its context has. */
static void check_region(uint32_t key)
{
	const struct device *device = &control_instance.devices[0];
	const struct rxe_mr *mr = entry_of(key);
	const struct object *pd = object_find(&device->tables.objects, mr->pd);
	const struct object *dm = object_find(&device->tables.objects, mr->dm);

	if (num_keys < MAX_KEYS)
		keys[num_keys++] = key;
	MUST(atomic_load(&mr->key) == key);
	MUST(pd && pd->kind == CTL_KIND_PD);
	MUST(mr->len <= RXE_MAX_MR_SIZE || (mr->len == UINT64_MAX && mr->rights & RXE_ON_DEMAND) ||
	     (mr->kind == RXE_MR_NULL && mr->rights == RXE_LOCAL_WRITE));
	MUST(mr->iova <= UINT64_MAX - mr->len);
	if (mr->kind == RXE_MR_PLAIN)
		MUST(mr->owner < RXE_MAX_SLOTS && device->slots.at[mr->owner] &&
		     mr->addr <= UINT64_MAX - mr->len);
	if (mr->kind == RXE_MR_ARENA) {
		MUST(dm && dm->kind == CTL_KIND_DM && dm->context == pd->context);
		MUST(mr->addr >= dm->addr && mr->addr - dm->addr <= dm->len);
		MUST(mr->len <= dm->len - (mr->addr - dm->addr));
	}
}

static void learn(const struct ctl_request *req, const struct ctl_reply *reply, int *fds,
		  size_t num)
{
	MUST(reply->status <= 0 && reply->status > -4096);
	if (reply->status != 0)
		MUST(num == 0);
	if ((reply->op == CTL_OPEN || reply->op == CTL_ADOPT) && reply->status == 0) {
		MUST(num == 1);
		token = reply->opened.token;
		keep_cmd_fd(fds[0]);
		num = 0;
	}
	ctl_close_fds(fds, num);
	if (reply->status == 0)
		known[num_known++ % MAX_KNOWN] = reply->made.handle;
	if ((reply->op == CTL_REG_MR || reply->op == CTL_REREG_MR) && reply->status == 0)
		check_region(reply->made.key);
	if (reply->op == CTL_ATTACH && reply->status == 0)
		control_slot[num_slots++ % CONTROL_KNOWN_SLOTS] = reply->attached.slot;
	if (reply->op == CTL_OPEN_XRCD && reply->status == 0)
		control_xrcd_opened(req, reply);
	if (reply->op == CTL_OPEN_QP && reply->status == 0)
		control_target_opened(req, reply);
	if (reply->op == CTL_FAULT)
		control_fault_answered(req, reply);
	if (reply->op == CTL_CM)
		control_cm_answered(req, reply);
}

/* Waits for the answer to a request, for a bounded time. */
static void await_answer(struct client *client, const struct ctl_request *req)
{
	struct ctl_reply reply;
	int fds[CTL_MAX_FDS + 4];
	size_t num = 0;

	for (uint32_t i = 0; i < MAX_TURNS; i++) {
		ssize_t n;

		control_turn();
		n = ctl_recv(client->sock, &reply, sizeof(reply), fds, CTL_MAX_FDS + 4, &num,
			     MSG_DONTWAIT);
		if (n == sizeof(reply)) {
			MUST(reply.op == req->op);
			learn(req, &reply, fds, num);
			return;
		}
		MUST(n == -EAGAIN);
		control_now_ns += TURN_NS;
	}
	MUST(false); /* no answer came */
}

static uint32_t take_handle(struct take *take)
{
	return known[take_u8(take) % MAX_KNOWN];
}

/* Sets words of the request: known handles, small numbers, or any value. */
static void take_words(struct take *take, struct ctl_request *req)
{
	uint32_t words[REQUEST_WORDS];
	uint8_t n = take_u8(take) % 12;

	memcpy(words, req, sizeof(words));
	while (n-- > 0) {
		const uint8_t place = take_u8(take);
		uint32_t *word = &words[2 + (place & 0x1f) % (REQUEST_WORDS - 2)];

		switch (place >> 6) {
		case 0: *word = take_u8(take); break;
		case 1: *word = take_handle(take); break;
		case 2: *word = (uint32_t)take_u8(take) << 12; break;
		case 3: *word = take_u32(take); break;
		}
	}
	memcpy(req, words, sizeof(words));
}

/* fd -1: none */
static void ask_with(struct client *client, const struct ctl_request *req, uint8_t how, int fd)
{
	if (client->sock < 0)
		return;
	if (ctl_send(client->sock, req, sizeof(*req), &fd, fd >= 0, MSG_DONTWAIT) != 0) {
		leave(client);
		return;
	}
	/* A second request before the answer to the first ends the connection. */
	if (client->is_waiting) {
		control_turn();
		leave(client);
	} else if (how & 4) {
		control_turn();
		client->is_waiting = true;
	} else {
		await_answer(client, req);
	}
}

static void ask(struct client *client, const struct ctl_request *req, uint8_t how)
{
	const int fd = how & 2 ? memory_fd : spare_fd;

	ask_with(client, req, how, how & 1 ? fd : -1);
}

static void request(struct client *client, struct take *take)
{
	struct ctl_request req = { .op = 1 + take_u8(take) % (CTL_OP_END - 1) };
	const uint8_t how = take_u8(take);

	if (req.op ==
	    CTL_SYSFS) /* files that stay when a fuzzer is killed; no input decides them */
		return;
	req.context = take_handle(take);
	req.handle = take_handle(take);
	req.token = how & 8 ? 1 : token;
	take_words(take, &req);
	if (how & 16)
		req.device = take_u8(take);
	ask(client, &req, how);
}

static void request_fault(struct client *client, struct take *take)
{
	const uint8_t how = take_u8(take);
	struct ctl_request req = { .op = CTL_FAULT };

	control_fault_take(&req, take);
	ask(client, &req, how);
}

static void request_cm(struct client *client, struct take *take)
{
	struct ctl_request req = { .op = CTL_CM };
	const int fd = control_cm_take(&req, take);

	ask_with(client, &req, 0, fd);
}

static void send_bytes(struct client *client, struct take *take)
{
	uint8_t bytes[200];
	size_t len = take_u8(take) % sizeof(bytes);
	const uint8_t fds = take_u8(take) % (CTL_MAX_FDS + 1);
	const int fd[CTL_MAX_FDS] = { spare_fd, memory_fd, spare_fd, spare_fd };

	for (size_t i = 0; i < len; i++)
		bytes[i] = take_u8(take);
	if (client->sock < 0)
		return;
	(void)ctl_send(client->sock, bytes, len, fd, fds, MSG_DONTWAIT);
	control_turn();
	leave(client);
}

/* A process raises its gauge, and does not lower it. */
static void stay_inside(struct take *take)
{
	const uint8_t byte = take_u8(take);
	const uint32_t slot = control_slot[byte % CONTROL_KNOWN_SLOTS];

	atomic_store(&control_device()->shared->slot[slot].inside, byte >> 4);
}

static void introduce(struct take *take)
{
	struct ctl_introduce intro = { .magic = CTL_MAGIC, .protocol = CTL_PROTOCOL };
	const uint8_t which = take_u8(take), spoil = take_u8(take);
	struct ctl_grant grant;
	int pair[2];
	size_t len = sizeof(intro);

	if (num_cmd_fds == 0)
		return;
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	if (spoil & 0x80)
		((uint8_t *)&intro)[take_u8(take) % sizeof(intro)] ^= take_u8(take);
	if (spoil & 0x40)
		len = spoil & 0xf;
	(void)ctl_send(cmd_fd[which % num_cmd_fds], &intro, len, spoil & 1 ? &spare_fd : &pair[1],
		       1, MSG_DONTWAIT);
	close(pair[1]);
	control_turn();
	if (ctl_recv(pair[0], &grant, sizeof(grant), NULL, 0, NULL, MSG_DONTWAIT) ==
	    sizeof(grant)) {
		token = grant.token;
		known[num_known++ % MAX_KNOWN] = grant.context;
	}
	close(pair[0]);
}

static void close_cmd(struct take *take)
{
	uint32_t which = take_u8(take);

	if (num_cmd_fds == 0)
		return;
	which %= num_cmd_fds;
	close(cmd_fd[which]);
	cmd_fd[which] = cmd_fd[--num_cmd_fds];
	control_turn();
}

/* Rules remain when the process that made them ends. */
static void clear_faults(void)
{
	struct ctl_request req = { .op = CTL_FAULT, .fault = { .what = CTL_FAULT_CLEAR } };
	struct take none = { 0 };

	if (control_device()->faults.count == 0)
		return;
	connect_client(&clients[0], &none);
	ask(&clients[0], &req, 0);
	control_fault_check();
}

/* All clients leave: nothing of theirs remains. */
static void all_leave(void)
{
	const struct device *device = control_device();
	static uint32_t runs;

	clear_faults();
	for (uint32_t i = 0; i < MAX_CLIENTS; i++)
		leave(&clients[i]);
	while (num_cmd_fds > 0)
		close(cmd_fd[--num_cmd_fds]);
	for (uint32_t i = 0; i < device->link.udp.slots; i++)
		atomic_store(&device->shared->slot[i].inside, 0);
	for (uint32_t i = 0; i < 8; i++)
		control_turn();
	control_slot_end();
	control_cm_end();
	MUST(!control_instance.conns.all && control_instance.conns.num == 0);
	MUST(!device->contexts && !device->memory.ranges.resting &&
	     device->memory.ranges.used == 0);
	MUST(device->slots.free.count == device->link.udp.slots - 1);
	for (uint32_t i = 0; i < OBJECT_KINDS; i++)
		MUST(device->tables.objects.count[i] == 0);
	for (; num_keys > 0; num_keys--)
		MUST(atomic_load(&entry_of(keys[num_keys - 1])->key) != keys[num_keys - 1]);
	if (runs++ % 64 == 1)
		fds_at_first = fds_at_first ? fds_at_first : count_fds();
	/* Counts descriptors only now and then: a leak repeats. */
	if (runs % 64 == 3 && fds_at_first)
		MUST(count_fds() <= fds_at_first + 8);
}

static void one_step(struct take *take)
{
	const enum step step = (enum step)(take_u8(take) % CONTROL_STEPS);
	struct client *client = &clients[0];

	if (step <= STEP_CLOSE || step == STEP_FAULT || step == STEP_CM)
		client = &clients[take_u8(take) % MAX_CLIENTS];
	switch (step) {
	case STEP_CONNECT: connect_client(client, take); return;
	case STEP_REQUEST: request(client, take); return;
	case STEP_BYTES: send_bytes(client, take); return;
	case STEP_CLOSE: leave(client); return;
	case STEP_SETTLE:
		control_now_ns += take_u8(take) * TURN_NS;
		control_turn();
		return;
	case STEP_INSIDE: stay_inside(take); return;
	case STEP_INTRODUCE: introduce(take); return;
	case STEP_CLOSE_CMD: close_cmd(take); return;
	case STEP_FAULT: request_fault(client, take); return;
	case STEP_FAULT_FILE: control_fault_file(take); return;
	case STEP_SPOIL: control_slot_spoil(take); return;
	case STEP_RECORD: control_slot_record(take, false); return;
	case STEP_DELAYED: control_slot_record(take, true); return;
	case STEP_CAPTURED: control_slot_captured(take); return;
	case STEP_PACKET: control_slot_packet(take); return;
	case STEP_CM: request_cm(client, take); return;
	case STEP_CM_EVENT: control_cm_read(take); return;
	case CONTROL_STEPS: return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };

	num_known = num_slots = 0;
	memset(known, 0, sizeof(known));
	token = 0;
	for (uint32_t i = 0; i < MAX_STEPS && take.left > 0; i++)
		one_step(&take);
	all_leave();
	return 0;
}
