// SPDX-License-Identifier: MIT
/* The unkind device of a process: its plan from the environment, its time, its queue pairs. */
#include "lib/progress/unkind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/log.h"
#include "lib/unkind/host.h"
#include "lib/unkind/plan.h"
#include "net/link/clock.h"
#include "net/link/unkind/link.h"
#include "net/wire/packet.h"

/* After the first ones of a queue pair, one arrival in RARE_HOLD is held back, for a time between
 * these. */
#define RARE_HOLD   32u
#define HOLD_MIN_NS 10000u
#define HOLD_MAX_NS 150000u

struct progress_unkind {
	struct rxe_engine *engine; /* NULL: not started */
	struct unkind_plan plan;
	struct unkind_host host;
	struct unkind_link *link; /* NULL: packets are not held back */
	/* Arrivals of each queue pair, by its order of creation. */
	uint32_t arrivals[RXE_MAX_QP];
};

static uint64_t now_ns(void *arg)
{
	(void)arg;
	return clock_now_ns();
}

static uint64_t hold_ns(void *arg, const struct wire_arrival *arrival, uint64_t *ret_stream)
{
	struct progress_unkind *unkind = arg;
	const uint32_t qpn = (uint32_t)arrival->p[5] << 16 | (uint32_t)arrival->p[6] << 8 |
			     (uint32_t)arrival->p[7];
	const struct rxe_qp *qp = rxe_engine_find_qp(unkind->engine, qpn);
	uint32_t nth;

	*ret_stream = qpn;
	if (!qp)
		return 0;
	nth = unkind->arrivals[qp->order % RXE_MAX_QP]++;
	if (!unkind_strikes(&unkind->plan, UNKIND_QP_ORDER, qp->order, nth, RARE_HOLD))
		return 0;
	return unkind_between(unkind_hash(&unkind->plan, UNKIND_QP_ORDER, qp->order, nth),
			      HOLD_MIN_NS, HOLD_MAX_NS);
}

/* Under the engine lock, as a slow adapter keeps its memory controller. A bare system call: a
 * library call would end a thread that the program cancels here. */
static void pause_ns(void *host, uint64_t ns)
{
	const struct timespec time = { .tv_nsec = (long)ns };

	(void)host;
	syscall(SYS_nanosleep, &time, NULL);
}

/* NULL: not asked for. */
static const char *setting(void)
{
	const char *text = secure_getenv("RXE_DM_WORST");

	return text && *text ? text : NULL;
}

bool progress_unkind_asked(enum unkind_switch which)
{
	char why[UNKIND_WHY_MAX];
	struct unkind_plan plan;

	return setting() && unkind_plan_parse(&plan, setting(), why) && unkind_has(&plan, which);
}

static bool read_plan(struct unkind_plan *ret)
{
	char why[UNKIND_WHY_MAX];

	if (!setting())
		return false;
	if (unkind_plan_parse(ret, setting(), why))
		return ret->switches != 0;
	ctl_log(CTL_LOG_WARNING, "RXE_DM_WORST: %s: the device stays kind", why);
	return false;
}

struct progress_unkind *progress_unkind_open(void)
{
	struct unkind_link_cfg cfg = { .hold_ns = hold_ns, .now_ns = now_ns };
	struct progress_unkind *unkind;
	struct unkind_plan plan;

	if (!read_plan(&plan))
		return NULL;
	unkind = calloc(1, sizeof(*unkind));
	cfg.arg = unkind;
	if (unkind && unkind_has(&plan, UNKIND_QP_ORDER))
		unkind->link = unkind_link_open(&cfg);
	if (!unkind || (unkind_has(&plan, UNKIND_QP_ORDER) && !unkind->link)) {
		free(unkind);
		ctl_log(CTL_LOG_WARNING, "RXE_DM_WORST: no memory: the device stays kind");
		return NULL;
	}
	unkind->plan = plan;
	return unkind;
}

void progress_unkind_close(struct progress_unkind *unkind)
{
	if (!unkind)
		return;
	unkind_link_close(unkind->link);
	free(unkind);
}

struct link *progress_unkind_over(struct progress_unkind *unkind, struct link *below)
{
	return unkind->link ? unkind_link_over(unkind->link, below) : below;
}

void progress_unkind_layer(struct progress_unkind *unkind, struct rxe_engine *engine,
			   struct rxe_engine_cfg *cfg, progress_unkind_look *look)
{
	const struct unkind_cfg own = {
		.plan = unkind->plan,
		.engine = engine,
		.slot = cfg->slot,
		.below = cfg->ops,
		.below_host = cfg->host,
		.pause = pause_ns,
		.about_to_store = look,
	};

	unkind->engine = engine;
	unkind_host_init(&unkind->host, &own);
	cfg->ops = &unkind->host.layer.ops;
	cfg->host = &unkind->host;
}

void progress_unkind_fill_receives(const struct progress_unkind *unkind, uint32_t pd,
				   const struct rxe_ring *ring, uint32_t from)
{
	unkind_fill_receives(&unkind->host, pd, ring, from);
}

void progress_unkind_fill_dm(const struct progress_unkind *unkind, uint8_t *bytes, size_t len)
{
	if (unkind && unkind_has(&unkind->plan, UNKIND_FILL_DM))
		memset(bytes, UNKIND_FILL_BYTE, len);
}
