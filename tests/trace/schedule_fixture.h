/* SPDX-License-Identifier: MIT */
/* A program, its engine and its background thread, as lib/progress/schedule_*.c sees them: each
 * function reports an event in virtual time and notes it with the decision, a line each. */
#ifndef RXE_TRACE_SCHEDULE_FIXTURE_H
#define RXE_TRACE_SCHEDULE_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/progress/schedule.h"

#define US	     1000u
#define PROGRAMS_CPU 0
#define OTHER_CPU    1
#define NEVER	     UINT64_MAX
#define MS(n)	     ((uint64_t)(n)*1000 * US)
/* The engine holds ACKs for this long. */
#define ACK_HOLD_NS  (19 * US)
#define expect(text) expect_at(text, __LINE__)

extern struct schedule s;
extern uint64_t now_ns;
extern bool engine_held;
extern int background_cpu;

void setup(void);
void expect_at(const char *text, int line);
void note_decision(const char *what, const struct schedule_decision *decision);
/* A poll has postponed the end of a step back. */
void note_step_back(uint64_t until_ns);
void pass(uint64_t ns);
/* A system call takes this many microseconds. */
void slow_down(uint64_t us);

/* The program. */
/* Its last poll found nothing, and the engine is due at due_ns. */
void found_nothing(uint64_t due_ns);
struct schedule_decision polls_empty(uint64_t due_ns);
void yields_for(uint64_t ns);
/* Polls each microsecond, unnoted, until it yields, for that long. */
void polls_until_a_yield(uint64_t ns);
void sleeps(const struct schedule_decision *decision, bool timed_out);
void polls_packet(void);
void polls_packets(unsigned int n);
/* A wait for a packet that comes after ns, unnoted. */
void waits_for(uint64_t ns);
void will_sleep(void);
/* Sends to one and the other in turn, unnoted. */
extern struct presence two[2];
void send_to_two(int times);
/* Waits of more than 48 us are long. */
void wait_for_long(int times);
/* Polls once, and sleeps in the kernel until a packet comes after 100 us, unnoted. */
void sleep_in_the_kernel(int times);

/* The engine, released with this deadline. */
void released(uint64_t deadline_ns, bool expecting);

/* The background thread. */
struct schedule_decision background(void);
void waits_on_link(uint64_t deadline_ns);
/* A packet, or something else ends the wait. */
void link_wakes(void);
void timer_wakes(void);
void runs_engine(int cpu, bool arrived);
void background_yields_for(uint64_t ns);

/* Steps back until the time is over, while the program polls without finding anything. */
void steps_back_beside_poller(void);

#endif
