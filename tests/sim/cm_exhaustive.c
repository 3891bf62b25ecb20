/* SPDX-License-Identifier: MIT */
/* Every way to lose the first ten messages of an exchange of the connection manager, and every way
 * to lose, double or delay the first five. There are always enough retries: each exchange must end
 * as its script says, at both ends, without a timeout.
 *
 * usage: cm_exhaustive [SCRIPT FATES]     one schedule, as a failure names it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cm_names.h"
#include "tests/sim/cm_world.h"

#define SERVICE	   0x1061c06u
#define MAX_IDS	   12u
#define LOST_FIRST 10u
#define ANY_FIRST  5u
#define LATE	   (150 * MS) /* after the next two retries */

enum script {
	STAY,		    /* both ends stay connected */
	ACTIVE_DISCONNECTS, /* and the passive end answers */
	PASSIVE_DISCONNECTS,
	BOTH_DISCONNECT,
	ACTIVE_LEAVES, /* connected */
	PASSIVE_LEAVES,
	ACTIVE_LEAVES_REQ,  /* after the REQ */
	ACTIVE_LEAVES_REP,  /* after the REP */
	PASSIVE_LEAVES_REP, /* after the REP */
	PASSIVE_REFUSES,
	ACTIVE_REFUSES,
	PASSIVE_DEFERS, /* the REP, until another REQ has come */
	RESOLVE,	/* SIDR */
	NUM_SCRIPTS,
};

static const char *const names[NUM_SCRIPTS] = {
	"stay",
	"active_disconnects",
	"passive_disconnects",
	"both_disconnect",
	"active_leaves",
	"passive_leaves",
	"active_leaves_req",
	"active_leaves_rep",
	"passive_leaves_rep",
	"passive_refuses",
	"active_refuses",
	"passive_defers",
	"resolve",
};

enum fate { ARRIVES, IS_LOST, COMES_TWICE, IS_LATE };

static struct run {
	struct cm_world w;
	enum script script;
	uint32_t fates; /* two bits a message */
	uint32_t sent;
	struct cm_id *active;
	struct cm_id *passive[MAX_IDS]; /* one for each REQ that is taken for new */
	uint32_t num_passive;
	bool is_answered, is_established;
	bool is_traced;
} run;

static void fail(const char *why, const char *what)
{
	(void)printf("%s%s; replay: cm_exhaustive %s %u\n", why, what, names[run.script],
		     run.fates);
	exit(EXIT_FAILURE);
}

static uint32_t sent(void *arg, struct cm_host *from, struct cm_host *to, const struct cm_msg *msg,
		     uint64_t ret_delay_ns[2])
{
	const enum fate fate = run.sent < 16 ? (enum fate)(run.fates >> 2 * run.sent & 3) : ARRIVES;
	static const char *const fates[] = { "", " (lost)", " (twice)", " (late)" };

	(void)arg;
	(void)to;
	run.sent++;
	if (run.is_traced)
		(void)printf("%8.1f %c > %s%s\n", (double)run.w.now_ns / (double)MS,
			     (char)('a' + from->index), cm_attr_str(msg->attr), fates[fate]);
	ret_delay_ns[0] = fate == IS_LATE ? LATE : MS;
	ret_delay_ns[1] = LATE;
	return fate == IS_LOST ? 0 : fate == COMES_TWICE ? 2 : 1;
}

static void must(int err)
{
	if (err)
		fail("a call fails", "");
}

static void leave(struct cm_id **id)
{
	struct cm_id *left = *id;

	*id = NULL;
	cm_id_destroy(left, run.w.now_ns);
}

static void refuse(struct cm_id *id)
{
	struct cm_msg rej = { .attr = CM_REJ };

	rej.u.rej.reason = CM_REJ_CONSUMER_DEFINED;
	must(cm_send_rej(id, &rej, run.w.now_ns));
}

static void disconnect(struct cm_id *id)
{
	const struct cm_msg dreq = { .attr = CM_DREQ };

	must(cm_send_dreq(id, &dreq, run.w.now_ns));
}

static void accept_it(struct cm_id **id)
{
	struct cm_msg rep = { .attr = CM_REP };

	rep.u.rep.local_qpn = 0x22 + run.num_passive;
	rep.u.rep.local_ca_guid = run.w.hosts[1].ca_guid;
	must(cm_send_rep(*id, &rep, run.w.now_ns));
	if (run.script == PASSIVE_LEAVES_REP)
		leave(id);
}

static void on_request(struct cm_id **id, const struct cm_event *event)
{
	struct cm_msg sidr = { .attr = CM_SIDR_REP };

	if (event->type == CM_EVENT_SIDR_REQ_RECEIVED)
		must(cm_send_sidr_rep(*id, &sidr, run.w.now_ns));
	else if (run.script == PASSIVE_REFUSES)
		refuse(*id);
	else if (run.script == PASSIVE_DEFERS)
		must(cm_defer_mra(*id, 15));
	else
		accept_it(id);
}

static void on_rep(void)
{
	const struct cm_msg rtu = { .attr = CM_RTU };

	if (run.script == ACTIVE_LEAVES_REP) {
		leave(&run.active);
		return;
	}
	if (run.script == ACTIVE_REFUSES) {
		refuse(run.active);
		return;
	}
	must(cm_send_rtu(run.active, &rtu));
	if (run.script == ACTIVE_DISCONNECTS || run.script == BOTH_DISCONNECT)
		disconnect(run.active);
	if (run.script == ACTIVE_LEAVES)
		leave(&run.active);
}

static void on_rtu(struct cm_id **id)
{
	run.is_established = true;
	if (run.script == PASSIVE_DISCONNECTS || run.script == BOTH_DISCONNECT)
		disconnect(*id);
	if (run.script == PASSIVE_LEAVES)
		leave(id);
}

static void on_dreq(struct cm_id *id)
{
	const struct cm_msg drep = { .attr = CM_DREP };

	if (cm_id_state(id) == CM_STATE_DREQ_RCVD)
		must(cm_send_drep(id, &drep, run.w.now_ns));
}

static struct cm_id **place_of(const struct cm_event *event)
{
	if (event->listener) {
		if (run.num_passive == MAX_IDS)
			fail("too many requests", "");
		run.passive[run.num_passive] = event->id;
		return &run.passive[run.num_passive++];
	}
	if (event->id == run.active)
		return &run.active;
	for (uint32_t i = 0; i < run.num_passive; i++)
		if (run.passive[i] == event->id)
			return &run.passive[i];
	fail("an event of an id that its program has left: ", cm_event_str(event->type));
	return NULL;
}

static void event(void *arg, struct cm_host *host, const struct cm_event *event)
{
	struct cm_id **id = place_of(event);

	(void)arg;
	if (run.is_traced)
		(void)printf("%8.1f %c   %s\n", (double)run.w.now_ns / (double)MS,
			     (char)('a' + host->index), cm_event_str(event->type));
	if (event->type == CM_EVENT_REQ_TIMED_OUT || event->type == CM_EVENT_REP_TIMED_OUT ||
	    event->type == CM_EVENT_DREQ_TIMED_OUT || event->type == CM_EVENT_SIDR_REQ_TIMED_OUT)
		fail("a timeout: ", cm_event_str(event->type));
	if (id == &run.active && event->type != CM_EVENT_MRA_RECEIVED)
		run.is_answered = true;
	if (event->listener)
		on_request(id, event);
	else if (event->type == CM_EVENT_REP_RECEIVED)
		on_rep();
	else if (event->type == CM_EVENT_RTU_RECEIVED)
		on_rtu(id);
	else if (event->type == CM_EVENT_DREQ_RECEIVED)
		on_dreq(*id);
}

static void ask(void)
{
	const struct cm_path path = cm_world_path(&run.w.hosts[0], &run.w.hosts[1]);
	struct cm_msg msg = { .attr = CM_REQ };
	const struct cm_msg sidr = { .attr = CM_SIDR_REQ, .u.sidr_req.service_id = SERVICE };

	run.active = cm_id_create(run.w.hosts[0].cm, NULL);
	msg.u.req.service_id = SERVICE;
	msg.u.req.local_ca_guid = run.w.hosts[0].ca_guid;
	msg.u.req.local_qpn = 0x11;
	msg.u.req.remote_cm_timeout = msg.u.req.local_cm_timeout = 14;
	msg.u.req.max_cm_retries = 15;
	msg.u.req.primary.ack_timeout = 10;
	if (run.script == RESOLVE)
		must(cm_send_sidr_req(run.active, &path, &sidr, 70 * MS, 15, 0));
	else
		must(cm_send_req(run.active, &path, &msg, 0));
	if (run.script == ACTIVE_LEAVES_REQ) {
		cm_world_run_until(&run.w, MS / 2);
		leave(&run.active);
	}
}

/* A program that took its time answers. */
static void accept_deferred(void)
{
	for (uint32_t i = 0; i < run.num_passive; i++)
		if (run.passive[i] && cm_id_state(run.passive[i]) == CM_STATE_MRA_REQ_SENT)
			accept_it(&run.passive[i]);
}

static void settle(void)
{
	cm_world_run_until(&run.w, 100 * MS);
	do
		accept_deferred();
	while (cm_world_step(&run.w, UINT64_MAX - 1));
}

static bool stays(void)
{
	return run.script == STAY || run.script == PASSIVE_DEFERS;
}

static void check(void)
{
	uint32_t established = 0;

	for (uint32_t i = 0; i < run.num_passive; i++) {
		const struct cm_id *id = run.passive[i];

		if (!id)
			continue;
		if (cm_id_state(id) == CM_STATE_ESTABLISHED)
			established++;
		else if (cm_id_state(id) != CM_STATE_IDLE)
			fail("a passive end stays in ", cm_state_str(cm_id_state(id)));
	}
	if (established != (stays() ? 1 : 0))
		fail("the passive end is not as the script says", "");
	if (!run.active)
		return;
	if (!run.is_answered)
		fail("no answer", "");
	if (cm_id_state(run.active) != (stays() ? CM_STATE_ESTABLISHED : CM_STATE_IDLE))
		fail("the active end is in ", cm_state_str(cm_id_state(run.active)));
}

/* All leave: nothing is left but the listener. */
static void check_left(void)
{
	if (run.active)
		leave(&run.active);
	for (uint32_t i = 0; i < run.num_passive; i++)
		if (run.passive[i])
			leave(&run.passive[i]);
	while (cm_world_step(&run.w, UINT64_MAX - 1))
		continue;
	if (cm_num_ids(run.w.hosts[0].cm) != 0 || cm_num_ids(run.w.hosts[1].cm) != 1)
		fail("ids are left", "");
}

static void run_one(enum script script, uint32_t fates)
{
	static const struct cm_world_hooks hooks = { .sent = sent, .event = event };
	const bool is_traced = run.is_traced;

	run = (struct run){ .script = script, .fates = fates, .is_traced = is_traced };
	cm_world_init(&run.w, 2, 2 * MAX_IDS, 1, &hooks, NULL);
	must(cm_listen(cm_id_create(run.w.hosts[1].cm, NULL), SERVICE, NULL, CM_ANY_DEVICE));
	ask();
	settle();
	check();
	check_left();
	cm_world_free(&run.w);
}

/* Bit i of the mask: message i is lost. */
static uint32_t lost(uint32_t mask)
{
	uint32_t fates = 0;

	for (uint32_t i = 0; i < LOST_FIRST; i++)
		fates |= (mask >> i & 1) * (uint32_t)IS_LOST << 2 * i;
	return fates;
}

static enum script script_of(const char *name)
{
	uint32_t i = 0;

	while (i < NUM_SCRIPTS && strcmp(names[i], name) != 0)
		i++;
	if (i == NUM_SCRIPTS)
		exit(2);
	return (enum script)i;
}

int main(int argc, char **argv)
{
	uint32_t schedules = 0;

	if (argc == 3) {
		run.is_traced = true;
		run_one(script_of(argv[1]), (uint32_t)strtoul(argv[2], NULL, 0));
		return EXIT_SUCCESS;
	}
	for (int script = 0; script < NUM_SCRIPTS; script++) {
		for (uint32_t mask = 0; mask < 1u << LOST_FIRST; mask++, schedules++)
			run_one((enum script)script, lost(mask));
		for (uint32_t fates = 0; fates < 1u << 2 * ANY_FIRST; fates++, schedules++)
			run_one((enum script)script, fates);
	}
	(void)printf("%u schedules\n", schedules);
	return EXIT_SUCCESS;
}
