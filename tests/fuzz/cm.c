/* SPDX-License-Identifier: MIT */
/* Fuzz target: the connection manager under a script of MADs, calls and time. MADs are bytes of
 * the input, as they are or with communication IDs that exist, and what the manager itself has
 * sent before. No event comes after a destroy, what is sent parses, ids stay within their limit,
 * and in the end all are gone. */
#include "rxe_dm/cm/cm.h"
#include "tests/fuzz/target.h"

#define MAX_IDS	 12u
#define MAX_SENT 8u

enum step { STEP_BYTES, STEP_FORGED, STEP_SENT, STEP_CALL, STEP_TIME, NUM_STEPS };
enum call {
	CALL_CREATE,
	CALL_LISTEN,
	CALL_REQ,
	CALL_REP,
	CALL_RTU,
	CALL_MRA,
	CALL_DEFER,
	CALL_REJ,
	CALL_DREQ,
	CALL_DREP,
	CALL_SIDR_REQ,
	CALL_SIDR_REP,
	CALL_ESTABLISHED,
	CALL_DESTROY,
	CALL_FORGET,
	NUM_CALLS,
};

static struct world {
	struct cm *cm;
	struct cm_id *ids[MAX_IDS]; /* the user of ids[i] is &ids[i] */
	uint64_t now_ns;
	uint32_t random;
	uint8_t sent[MAX_SENT][CM_MAD_BYTES];
	struct cm_path paths[MAX_SENT];
	uint32_t num_sent;
	uint8_t in_event; /* what the program does within the next event */
} w;

static void call(struct cm_id **slot, enum call what, struct take *take);

static void on_send(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct cm_msg msg;

	(void)host;
	MUST(cm_msg_parse(&msg, mad));
	memcpy(w.sent[w.num_sent % MAX_SENT], mad, CM_MAD_BYTES);
	w.paths[w.num_sent % MAX_SENT] = *path;
	w.num_sent++;
}

/* A place for a new id. NULL: none is free. */
static struct cm_id **free_slot(void)
{
	for (uint32_t i = 0; i < MAX_IDS; i++)
		if (!w.ids[i])
			return &w.ids[i];
	return NULL;
}

static void on_event(void *host, const struct cm_event *event)
{
	struct cm_id **slot = event->user;
	struct take none = { NULL, 0 };
	const uint8_t what = w.in_event;

	(void)host;
	MUST((unsigned)event->type < CM_NUM_EVENTS && event->path);
	MUST(slot >= w.ids && slot < w.ids + MAX_IDS);
	if (event->listener) {
		MUST(*slot == event->listener);
		slot = free_slot();
		if (!slot) {
			cm_id_destroy(event->id, w.now_ns);
			return;
		}
		*slot = event->id;
		cm_id_set_user(event->id, slot);
	}
	MUST(*slot == event->id);
	w.in_event = 0;
	if (what)
		call(slot, what % NUM_CALLS, &none);
}

static uint32_t on_random(void *host)
{
	(void)host;
	return w.random += 3;
}

static struct cm_path some_path(uint8_t which)
{
	struct cm_path path = { .device = which & 1, .hop_limit = 64 };

	path.src.raw[15] = 1;
	path.dst.raw[15] = (uint8_t)(1 + (which >> 1 & 3));
	return path;
}

/* Numbers are small, so that they coincide. */
static struct cm_msg some_msg(enum cm_attr attr, struct take *take)
{
	struct cm_msg msg = { .attr = attr, .private_len = take_u8(take) };

	if (attr == CM_REQ) {
		msg.u.req.service_id = take_u8(take) & 1;
		msg.u.req.local_qpn = take_u8(take) & 3;
		msg.u.req.local_ca_guid = take_u8(take) & 1;
		msg.u.req.max_cm_retries = take_u8(take) & 15;
		msg.u.req.remote_cm_timeout = take_u8(take) & 31;
		msg.u.req.primary.ack_timeout = take_u8(take) & 31;
	} else if (attr == CM_REP) {
		msg.u.rep.local_qpn = take_u8(take) & 3;
		msg.u.rep.local_ca_guid = take_u8(take) & 1;
	} else if (attr == CM_REJ) {
		msg.u.rej.reason = take_u8(take);
		msg.u.rej.ari_len = take_u8(take);
	} else if (attr == CM_MRA) {
		msg.u.mra.service_timeout = take_u8(take) & 31;
	} else if (attr == CM_SIDR_REQ) {
		msg.u.sidr_req.service_id = take_u8(take) & 1;
	} else if (attr == CM_SIDR_REP) {
		msg.u.sidr_rep.info_len = take_u8(take);
	}
	return msg;
}

static void leave(struct cm_id **slot, bool is_forgotten)
{
	struct cm_id *id = *slot;

	*slot = NULL;
	if (is_forgotten)
		cm_id_forget(id);
	else
		cm_id_destroy(id, w.now_ns);
}

/* Whether a call succeeds is its state's business: what matters is what follows. */
static void call_with_msg(struct cm_id *id, enum call what, struct take *take)
{
	static const enum cm_attr attrs[NUM_CALLS] = {
		[CALL_REQ] = CM_REQ,   [CALL_REP] = CM_REP,	      [CALL_RTU] = CM_RTU,
		[CALL_MRA] = CM_MRA,   [CALL_REJ] = CM_REJ,	      [CALL_DREQ] = CM_DREQ,
		[CALL_DREP] = CM_DREP, [CALL_SIDR_REQ] = CM_SIDR_REQ, [CALL_SIDR_REP] = CM_SIDR_REP,
	};
	const struct cm_path path = some_path(take_u8(take));
	const struct cm_msg msg = some_msg(attrs[what], take);

	if (what == CALL_REQ)
		(void)cm_send_req(id, &path, &msg, w.now_ns);
	else if (what == CALL_REP)
		(void)cm_send_rep(id, &msg, w.now_ns);
	else if (what == CALL_RTU)
		(void)cm_send_rtu(id, &msg);
	else if (what == CALL_MRA)
		(void)cm_send_mra(id, &msg);
	else if (what == CALL_REJ)
		(void)cm_send_rej(id, &msg, w.now_ns);
	else if (what == CALL_DREQ)
		(void)cm_send_dreq(id, &msg, w.now_ns);
	else if (what == CALL_DREP)
		(void)cm_send_drep(id, &msg, w.now_ns);
	else if (what == CALL_SIDR_REQ)
		(void)cm_send_sidr_req(id, &path, &msg, 100000000, 2, w.now_ns);
	else
		(void)cm_send_sidr_rep(id, &msg, w.now_ns);
}

static void call(struct cm_id **slot, enum call what, struct take *take)
{
	const struct cm_path path = some_path(2);

	if (!*slot) {
		*slot = cm_id_create(w.cm, slot);
		MUST(*slot || cm_num_ids(w.cm) == MAX_IDS);
		return;
	}
	if (what == CALL_CREATE)
		return;
	if (what == CALL_LISTEN)
		(void)cm_listen(*slot, take_u8(take) & 1, take_u8(take) & 1 ? &path.src : NULL,
				CM_ANY_DEVICE);
	else if (what == CALL_DEFER)
		(void)cm_defer_mra(*slot, take_u8(take));
	else if (what == CALL_ESTABLISHED)
		(void)cm_established(*slot);
	else if (what == CALL_DESTROY || what == CALL_FORGET)
		leave(slot, what == CALL_FORGET);
	else
		call_with_msg(*slot, what, take);
}

static void input_bytes(struct take *take)
{
	const struct cm_path path = some_path(take_u8(take));
	uint8_t mad[CM_MAD_BYTES] = { 0 };

	for (size_t i = 0; i < sizeof(mad) && take->left > 0; i++)
		mad[i] = take_u8(take);
	cm_input(w.cm, &path, mad, w.now_ns);
}

/* A message to an id that there is, of its peer or of another process. */
static void input_forged(struct take *take)
{
	const struct cm_path path = some_path(take_u8(take));
	const struct cm_id *id = w.ids[take_u8(take) % MAX_IDS];
	const uint8_t kind = take_u8(take);
	struct cm_msg msg = some_msg((enum cm_attr)(CM_REQ + kind % 11), take);
	struct cm_id_info info = { 0 };
	uint8_t mad[CM_MAD_BYTES];

	if (id)
		cm_id_info(id, &info);
	msg.remote_comm_id = info.local_comm_id;
	msg.local_comm_id = kind & 0x80 ? take_u8(take) & 3 : info.remote_comm_id;
	msg.private_len = 0;
	if (msg.attr == CM_DREQ)
		msg.u.dreq.remote_qpn = info.local_qpn;
	if (msg.attr == CM_SIDR_REQ || msg.attr == CM_SIDR_REP)
		msg.u.sidr_req.request_id = kind & 0x80 ? kind & 3 : info.local_comm_id;
	if (msg.attr == CM_MRA)
		msg.u.mra.message_mraed = kind >> 4 & 3;
	cm_msg_emit(mad, &msg);
	cm_input(w.cm, &path, mad, w.now_ns);
}

/* What was sent comes back: both ends are in this manager. */
static void input_sent(struct take *take)
{
	const uint32_t which = take_u8(take) % MAX_SENT;
	struct cm_path path;

	if (w.num_sent <= which)
		return;
	path = w.paths[(w.num_sent - 1 - which) % MAX_SENT];
	cm_input(w.cm, &path, w.sent[(w.num_sent - 1 - which) % MAX_SENT], w.now_ns);
}

static void time_passes(struct take *take)
{
	w.now_ns += (uint64_t)take_u16(take) << (take_u8(take) & 31);
	cm_expire(w.cm, w.now_ns);
	MUST(cm_deadline(w.cm) > w.now_ns);
}

/* What parses is the same when it is emitted and parsed again. */
static void check_format(const uint8_t *data, size_t size)
{
	uint8_t mad[CM_MAD_BYTES] = { 1, MAD_CLASS_CM, CM_CLASS_VERSION, MAD_METHOD_SEND };
	uint8_t again[CM_MAD_BYTES], third[CM_MAD_BYTES];
	struct cm_ip_header ip;
	struct cm_msg msg;

	for (size_t i = 4; i < sizeof(mad) && i < size; i++)
		mad[i] = data[i];
	mad[16] = 0;
	mad[17] = (uint8_t)(CM_REQ + mad[17] % 11);
	MUST(cm_msg_parse(&msg, mad));
	MUST(msg.private_len == cm_private_max(msg.attr));
	cm_msg_emit(again, &msg);
	MUST(cm_msg_parse(&msg, again));
	cm_msg_emit(third, &msg);
	MUST(memcmp(again, third, sizeof(again)) == 0);
	if (cm_ip_header_parse(&ip, msg.private_data))
		cm_ip_header_emit(again, &ip);
}

static void step(struct take *take)
{
	const uint8_t what = take_u8(take);

	w.in_event = what >> 3;
	switch ((enum step)(what % 8 % NUM_STEPS)) {
	case STEP_BYTES: input_bytes(take); break;
	case STEP_FORGED: input_forged(take); break;
	case STEP_SENT: input_sent(take); break;
	case STEP_CALL: {
		struct cm_id **slot = &w.ids[take_u8(take) % MAX_IDS];

		call(slot, (enum call)(take_u8(take) % NUM_CALLS), take);
		break;
	}
	case STEP_TIME: time_passes(take); break;
	case NUM_STEPS: break;
	}
	MUST(cm_num_ids(w.cm) <= MAX_IDS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cm_ops ops = {
		.send = on_send,
		.event = on_event,
		.random = on_random,
	};
	const struct cm_cfg cfg = { .ops = &ops, .max_ids = MAX_IDS };
	struct take take = { data, size };

	check_format(data, size);
	memset(&w, 0, sizeof(w));
	w.cm = cm_new(&cfg);
	while (take.left > 0)
		step(&take);
	w.in_event = 0;
	for (uint32_t i = 0; i < MAX_IDS; i++)
		if (w.ids[i])
			leave(&w.ids[i], false);
	/* Longer than all retries and TIME_WAIT. */
	for (int i = 0; i < 40 && cm_deadline(w.cm) != UINT64_MAX; i++) {
		w.now_ns = cm_deadline(w.cm) + (1ull << 40);
		cm_expire(w.cm, w.now_ns);
	}
	MUST(cm_num_ids(w.cm) == 0);
	cm_free(w.cm);
	return 0;
}
