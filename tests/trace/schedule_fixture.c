/* SPDX-License-Identifier: MIT */
/* The fixture of the traces of lib/progress/schedule_*.c. */
#include "tests/trace/schedule_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct schedule s;
uint64_t now_ns;
bool engine_held;
int background_cpu;
struct presence two[2];
static struct schedule_decision yielded; /* the last that was decided */
static char trace[8192];
static size_t trace_len;

static bool is_engine_held(void *arg)
{
	(void)arg;
	return engine_held;
}

/* Time 0 is a second after the machine's start: 0 is no time for the schedule. */
static double us(uint64_t ns)
{
	return ((double)ns - 1e9) / US;
}

void setup(void)
{
	memset(&s, 0, sizeof(s));
	schedule_start(&s, is_engine_held, NULL);
	now_ns = 1000000000u;
	engine_held = false;
	background_cpu = OTHER_CPU;
	trace_len = 0;
	trace[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	trace_len += (size_t)snprintf(trace + trace_len, sizeof(trace) - trace_len, "%8.1f ",
				      us(now_ns));
	va_start(args, format);
	trace_len += (size_t)vsnprintf(trace + trace_len, sizeof(trace) - trace_len, format, args);
	va_end(args);
	ck_assert_uint_lt(trace_len, sizeof(trace));
}

void expect_at(const char *text, int line)
{
	if (strcmp(trace, text) != 0)
		ck_abort_msg("line %d: expected\n%sgot\n%s", line, text, trace);
	trace_len = 0;
	trace[0] = '\0';
}

static const char *const action_name[] = {
	[SCHEDULE_NOTHING] = "NOTHING",
	[SCHEDULE_YIELD] = "YIELD",
	[SCHEDULE_SLEEP] = "SLEEP",
	[SCHEDULE_WAKE_BACKGROUND] = "WAKE_BACKGROUND",
	[SCHEDULE_WAIT_ON_LINK] = "WAIT_ON_LINK",
	[SCHEDULE_STEP_BACK] = "STEP_BACK",
	[SCHEDULE_LOOK_AT_LINK] = "LOOK_AT_LINK",
	[SCHEDULE_RUN_ENGINE] = "RUN_ENGINE",
	[SCHEDULE_EXIT] = "EXIT",
};

void note_decision(const char *what, const struct schedule_decision *decision)
{
	if (decision->action == SCHEDULE_YIELD)
		yielded = *decision;
	if (decision->until_ns)
		note("%s -> %s until %.1f%s%s\n", what, action_name[decision->action],
		     us(decision->until_ns),
		     decision->lets_others_go_on ? ", lets others go on" : "",
		     decision->shortens_slice ? ", short slice" : "");
	else
		note("%s -> %s\n", what, action_name[decision->action]);
}

void note_step_back(uint64_t until_ns)
{
	note("program polls -> steps back until %.1f\n", us(until_ns));
}

void pass(uint64_t ns)
{
	now_ns += ns;
}

void slow_down(uint64_t us)
{
	for (int i = 0; i < 32; i++)
		schedule_call_measured(&s, us * US);
}

/* The program. */

void found_nothing(uint64_t due_ns)
{
	const struct schedule_decision before = { .action = SCHEDULE_NOTHING };

	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	schedule_looked(&s, &before, now_ns, due_ns);
}

/* The decision of the last poll: the program backs off, and polls again afterwards. */
static bool backs_off;

static void backed_off(void)
{
	if (backs_off)
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
	backs_off = false;
}

struct schedule_decision polls_empty(uint64_t due_ns)
{
	struct schedule_decision decision;

	found_nothing(due_ns);
	decision = schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
	backs_off = decision.action != SCHEDULE_NOTHING;
	note_decision("program polls, finds nothing", &decision);
	return decision;
}

void polls_until_a_yield(uint64_t ns)
{
	const size_t len = trace_len;

	while (polls_empty(NEVER).action != SCHEDULE_YIELD) {
		trace_len = len;
		pass(1 * US);
	}
	yields_for(ns);
}

void yields_for(uint64_t ns)
{
	const uint64_t asked_ns = now_ns;
	bool short_slice;

	pass(ns);
	short_slice = schedule_yield_returned(&s, &yielded, asked_ns, now_ns);
	note("program yielded for %.1f%s\n", (double)ns / US, short_slice ? " -> short slice" : "");
	backed_off();
}

void sleeps(const struct schedule_decision *decision, bool timed_out)
{
	ck_assert_int_eq(decision->action, SCHEDULE_SLEEP);
	if (timed_out)
		now_ns = decision->until_ns;
	schedule_sleep_returned(&s, decision, timed_out);
	note("program wakes, %s\n", timed_out ? "no packet" : "packet");
	backed_off();
}

void polls_packet(void)
{
	struct schedule_decision decision;

	schedule_polled(&s, now_ns, PROGRAMS_CPU);
	decision = schedule_packet_arrived(&s);
	note_decision("program polls, finds a packet", &decision);
}

void polls_packets(unsigned int n)
{
	note("program polls, finds %u packets\n", n);
	while (n--) {
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
		ck_assert_int_eq(schedule_packet_arrived(&s).action, SCHEDULE_NOTHING);
	}
}

void waits_for(uint64_t ns)
{
	const size_t len = trace_len;

	if (polls_empty(NEVER).action == SCHEDULE_YIELD)
		yields_for(1 * US);
	pass(ns);
	polls_packet();
	trace_len = len;
	trace[len] = '\0';
}

void will_sleep(void)
{
	const struct schedule_decision decision = schedule_program_will_sleep(&s);

	note_decision("program will sleep", &decision);
}

void send_to_two(int times)
{
	for (int i = 0; i < times; i++)
		schedule_sent_to(&s, &two[i % 2]);
}

/* The engine, released with this deadline. */
void released(uint64_t deadline_ns, bool expecting)
{
	const struct schedule_timers timers = { .engine_ns = deadline_ns,
						.link_ns = NEVER,
						.ack_hold_ns = ACK_HOLD_NS };
	const struct schedule_decision decision =
		schedule_engine_released(&s, now_ns, &timers, expecting);

	note_decision("engine released", &decision);
}

/* The background thread. */

struct schedule_decision background(void)
{
	const struct schedule_decision decision =
		schedule_background_next(&s, now_ns, background_cpu);

	note_decision("background", &decision);
	return decision;
}

void waits_on_link(uint64_t deadline_ns)
{
	const struct schedule_timers timers = { .engine_ns = deadline_ns,
						.link_ns = NEVER,
						.ack_hold_ns = ACK_HOLD_NS };
	const uint64_t until_ns = schedule_link_wait_began(&s, now_ns, &timers);

	if (until_ns == NEVER)
		note("background waits\n");
	else
		note("background waits until %.1f\n", us(until_ns));
}

void link_wakes(void)
{
	schedule_link_wait_returned(&s, true);
	note("background wakes\n");
}

void timer_wakes(void)
{
	schedule_link_wait_returned(&s, false);
	note("background wakes, no packet\n");
}

void runs_engine(int cpu, bool arrived)
{
	schedule_engine_ran(&s, now_ns, cpu, arrived);
	note("background ran the engine, %s\n", arrived ? "packet" : "nothing");
}

void background_yields_for(uint64_t ns)
{
	pass(ns);
	schedule_background_yielded(&s, ns);
	note("background yielded for %.1f\n", (double)ns / US);
}

/* Steps back until the time is over, while the program polls without finding anything. */
void steps_back_beside_poller(void)
{
	const struct schedule_decision decision = background();

	ck_assert_int_eq(decision.action, SCHEDULE_STEP_BACK);
	now_ns = decision.until_ns;
	schedule_polled(&s, now_ns - 5 * US, PROGRAMS_CPU);
	schedule_step_back_returned(&s, now_ns, background_cpu, false);
}

void wait_for_long(int times)
{
	for (int i = 0; i < times; i++)
		waits_for(100 * US);
}

void sleep_in_the_kernel(int times)
{
	for (int i = 0; i < times; i++) {
		struct schedule_decision decision;

		found_nothing(NEVER);
		decision = schedule_poll_began(&s, now_ns, PROGRAMS_CPU);
		ck_assert_int_eq(decision.action, SCHEDULE_YIELD);
		schedule_yield_returned(&s, &decision, now_ns, now_ns);
		schedule_program_will_sleep(&s);
		pass(100 * US);
		schedule_polled(&s, now_ns, PROGRAMS_CPU);
		schedule_packet_arrived(&s);
	}
}
