/* SPDX-License-Identifier: MIT */
/* Decides who runs the engine of a process and when: which thread, whether a poller yields or
 * sleeps, what the background thread waits for. Events go in (past tense), decisions come out.
 * Makes no system call, reads no clock, takes no lock, never touches the engine. Called by poll.c
 * (threads of the program), thread.c (the background thread), progress.c and host.c.
 *
 * THEORY OF OPERATION
 *
 * Threads. A thread of the program runs the engine when it posts, and when it polls a completion
 * queue that is empty. The background thread runs it for programs that call nothing: targets of
 * one-sided operations, programs that sleep until an event, programs that spin on their own memory.
 * One thread at a time: the one that holds the engine lock.
 *
 * Aim. A packet is received within microseconds where a processor is free, and no thread keeps a
 * processor from the thread that could make it progress. The two conflict: a poller may need to
 * give its processor to the very peer that it waits for.
 *
 * Unit. What each decision trades differs by a factor of 100 between machines, and so little in
 * system calls that do nothing that one of those, with a reading of the clock, is the unit of all
 * times below (call_cost.h). It is 0.3 us on a fast machine. An empty poll takes 0.3 to 3 units, a
 * yield that no other thread uses 1.3, a switch of threads 4, a message 10, waking a thread that
 * sleeps 15 to 50. Times in microseconds are limits that kernels and protocols set: time slices,
 * ACK timeouts. One cost differs by more: to set a timer that expires before all others of its
 * processor, and to clear it, takes 6 units, and 80 in a virtual machine whose host does both. The
 * background thread measures it as it starts.
 *
 * A poll after one that found nothing backs off first, and runs the engine then:
 *
 *   last yield took       the machine is           decision
 *   any                   any, the peer runs       NOTHING for 40 units
 *   below 6 units         quiet                    NOTHING for 10 units, doubled up to 160 while
 *                                                  it stays quiet; then YIELD
 *   6 to 1000 units       shared                   YIELD
 *   more, or above        oversubscribed, 20 ms    SLEEP on the link: 160 units, or 24 timers if
 *   700 us (a slice)                               that is more, doubled up to 800 units while no
 *                                                  packet comes, 1 ms at most
 *   more than 32 units,   oversubscribed, 640 ms   SLEEP on the link, doubled up to 3200 units; a
 *   who waits its turn                             packet does not make the next sleep shorter
 *   the same, of a server                          ... doubled up to 2 ms
 *   that sends to many
 *
 * So what came while others had the processor is found before the next yield, and a program that
 * sends to one, polls once and then does something else never backs off. After 32 units without a
 * poll the loop does other things as well: there a poll looks first, and backs off if it finds
 * nothing.
 *
 * Yield to whom? A process shows in shared memory where and when its engine last ran. The peer is
 * the process of the device that this one sent to last. It runs if its engine ran within 24 units
 * on another processor: a yield would only give strangers their time slices. It gets the yield if
 * it ran last on this processor. Nothing is known of a peer on another host, one that sleeps, and
 * one that has lost its processor elsewhere: there the last yield decides. A thread that posts
 * yields as one that polls, unless the process polls and sends to many: such a server answers all
 * that it has found, and yields once it finds nothing.
 *
 * Whose turn? A client of a busy server waits for long, and always for the same peer. Its yield
 * runs other clients, which only wait too, and the server gets the processor last. So a process
 * whose waits mostly take more than 160 units, and which seldom sends to another peer than before,
 * waits its turn: it sleeps at once, also while its peer runs. Processes that each send to many, as
 * the ranks of a collective operation, yield: a yield runs those that they wait for. Peers on other
 * hosts count as many. A process shows in shared memory whether it sends to many. The turn of such
 * a server's client may come each millisecond: there the background thread steps back for 2 ms, and
 * ACKs wait for 2.5 ms, or both threads of each client would wake up for nothing between answers.
 * The server has had more time than its clients, so each wake-up would take its processor: both
 * threads of a client let others go on (lib/control/wakeup.h), until they sleep or yield otherwise.
 *
 * Rounds. A program that sends to many may poll several queues in turn, and yield itself once all
 * are empty, as MPI does. A yield is a turn of all ranks on the processor, and is lost when no look
 * at the link follows it, or when the packet found belongs to a queue that was polled before. So
 * the engine runs for one queue of each round, and no poll backs off after its look. Where the last
 * yield ran others, a loop seems slow because the program has yielded itself: eight such polls in a
 * row do not back off.
 *
 * Events. A thread that waits for an event spins for 160 units, then sleeps. While it sleeps until
 * the background thread reports the event, two threads wake up for a packet. So one thread sleeps
 * on the link and on its channel, 5 ms at most, and the background thread steps back meanwhile.
 * Once the thread has its event, packets wait for its next call or for the end of the step back. So
 * once a thread was away for more than 160 units after its last event, 2560 if the process sends to
 * many, this wait and the next seven are on channels alone. A client of a busy server waits on the
 * link in any case, and at once: it mostly waits for long, and its spin keeps others from running.
 * Its polls while a completion queue is armed come right before such a wait: four in a row return
 * at once.
 *
 * A yield that is used takes two switches and what the other thread does: 8 units at least. More
 * threads spin than there are processors where a yield is expensive: it returns after the time
 * slices of all others. Without yields the kernel takes the processor away for as long. A thread
 * that sleeps on the link is run soon after its packet comes. Each sleep sets a timer, in case
 * another thread takes the packet, and clears it. Where timers are dear the sleep is longer: others
 * of the processor expire first, and this one costs little. A poller that paid for an expensive
 * yield, or sleeps because a post did, has a short time slice from then on
 * (lib/control/time_slice.h): EEVDF runs it at once when it wakes up, and takes no more than that
 * slice for a yield. With its own slice it would wait for 700 us after each packet. A program that
 * sends to many has a short one too, once a yield ran others: a rank that kept its own slice would
 * have one turn for fourteen of the others. Such a rank may never learn it: its background thread
 * takes its packets meanwhile, each poll of its turn follows one that found something, and none
 * backs off. So a program that sends to many also yields before a poll that comes 32 units after
 * the last one, until a yield ran others. A poller has its own slice again when it expects nothing
 * more, a rank once it sends to one: with a short one a thread that spins would keep out its
 * background thread, which then has no shorter slice.
 *
 * The background thread:
 *
 *   state            event                                     next state
 *   IDLE             a poller suffices                         STEPPING_BACK
 *                    else                                      LISTENING
 *   LISTENING        woken; a poller suffices                  STEPPING_BACK
 *   (on the link)    woken by a packet; a poller is near, or
 *                    found the last arrival and has posted     STEPPING_BACK for 64 units
 *                    woken; else                               SERVING
 *   STEPPING_BACK    an event other than a packet              IDLE
 *   (not the link)   time over; the program polled             IDLE; the next step back is longer
 *                    time over; it did not poll                LOOKING
 *   LOOKING          a packet waits                            IDLE; 8 arrivals count from 0
 *                    none waits                                IDLE
 *   SERVING          nothing for 64 to 256 units, or a
 *                    poller is near, or the program's
 *                    processor is this one, or a yield took
 *                    more than 32 units                        IDLE
 *                    a packet, a poller is near and serves
 *                    many                                      IDLE
 *
 * A poller suffices when one is near, and pollers have found 8 arrivals or the machine is
 * oversubscribed: there the poller may wait for the processor that the background thread has. An
 * arrival that wakes the background thread beside a poller that is near counts as the poller's: on
 * some kernels the poller's yields would else run the background thread, which finds each packet
 * first. A poller is near when it polled within 64 units, sleeps on the link, or holds the engine;
 * also while it yields, for 160 units after its poll, if this thread has its processor. In a
 * process that sends to many it is near for 2560 units if its last yield ran others, and no
 * completion queue was armed within 5 ms: it polls whenever it has its processor, and yields. On
 * one processor each arrival wakes this thread before the poller, which waits for that processor.
 * Where this thread may use one processor alone, as in a container, any poller is near for 640
 * units: the thread can run the engine only in the poller's place, and the wake-up that ends a step
 * back may keep the poller waiting for 64 units and more. Two such processes took 8.9 us for a way,
 * and 5.2 us with this rule. Elsewhere this thread may be late as well, and be the one that the
 * poller waits for. So at the end of a step back a poller is near if it was near when the end was
 * due, unless it waits its turn: others run then, late or not. A poller that finds what arrives
 * takes the background thread off the link (WAKE_BACKGROUND): each packet would wake that thread
 * for nothing, at the sender's cost. A program that is about to sleep in the kernel brings it back.
 * A server of many peers always has packets: once the background thread takes them, the program
 * finds completions at each poll and never runs the engine, so there the thread leaves at once, and
 * a poll that finds something shows that the program polls.
 *
 * Steps back are of 160 units at first, twice as long each time that the program polled meanwhile,
 * up to 2560, and 2 ms at most. They stay short for 5 ms after a completion queue was armed: a
 * program that sleeps on a channel's descriptor arms right before, UCX arms once and polls on. A
 * poll in the last eighth of one that is longer than the first, or of 2 ms, postpones its end by
 * its length: the thread would only learn that the program polls, and does not wake up before the
 * program has stopped. A program that waits its turn, or sends to many, polls less often: there it
 * is the last half. One that shares its processor with strangers may lose it for a slice, and
 * postpones nothing: the thread, which has used little, gets a processor sooner. A wake-up takes 40
 * units of a processor, the timer that a poll sets 6. 33 processes that woke up for nothing each 2
 * ms took a tenth of two processors. An emulated processor, where 160 units are more than 2 ms, is
 * slower for a while after each switch: there two threads that woke up each 2 ms took a quarter of
 * the round trips.
 *
 * Where timers are dear, a poll postpones the end by 64 timers at least, up to 2 ms, and by an
 * eighth of the time for which the program has polled since the thread stepped back, up to 256
 * timers and 8 ms. A peer that needs this process after the program has stopped polling waits for
 * that long once. With 64 timers each time, 1 way in 100 over UDP met the timer of a poll.
 *
 * The background thread gives way by a sleep: after a yield the kernel may well run it again, and
 * again, before a poller that waits for the same processor. It serves on after a packet for 64
 * units: going to sleep and waking up take about as long. They take 200 in a virtual machine whose
 * host carries out each halt and each interrupt. So a sleep that a packet ends within 256 units
 * doubles the time, up to 256 units: the thread would have found the packet. It is 64 units again
 * after a longer sleep, after a yield that another thread used, and where the peer ran last on this
 * processor: that peer sends nothing while this thread runs. WRITEs of 64 KiB over the memory link
 * in such a machine: 3.7 GB/s before, 6.3 GB/s with this rule.
 *
 * Timers. The background thread serves the engine's deadlines. One that comes within the time for
 * which the engine holds ACKs back is that of an ACK, which waits to follow a request. It does not
 * wake the thread: a poller sends the ACK, and while ACKs are held the thread runs the engine every
 * 3200 units, 2.5 ms at most. The engine holds an ACK for 64 units. A server that polls and sends
 * to many answers one peer after the other, so there an ACK is held for 1024 units: an ACK that is
 * sent alone wakes a peer that waits for the answer. An ACK that the program leaves held when it
 * stops polling waits for the end of a step back. After 320 units the thread sends once more what
 * the link refused. While the thread steps back, the next poll does so.
 *
 * Measured on 2 cores. Two processes on one CPU: 4 to 8 ms a round trip when neither yields, 4.5 us
 * when both do. An unconditional yield beside a busy third program costs up to 2 ms. A background
 * thread that wakes beside a poller costs the poller's 99th percentile 25 to 49 us; one pinned to
 * the program's processor answers in 19 us instead of 3. Twenty pairs of pollers at once take 2 s
 * with sleeps, 25 to 40 s without. A sleep of 20 us lasts 100. Since Linux 6.18 a yield forfeits
 * virtual run time: a thread in debt waits for a tick of 4 ms, so the background thread does not
 * linger beside a thread of the program. tests/sim/machines.txt has what all of this makes of
 * machines of other kinds. */
#ifndef RXE_PROGRESS_SCHEDULE_H
#define RXE_PROGRESS_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/control/presence.h"
#include "lib/progress/call_cost.h"
#include "lib/progress/turns.h"

enum schedule_action {
	SCHEDULE_NOTHING,
	SCHEDULE_YIELD,
	/* A poller sleeps on the link until until_ns. */
	SCHEDULE_SLEEP,
	/* The background thread shall decide again. */
	SCHEDULE_WAKE_BACKGROUND,
	/* The rest is for the background thread alone. It waits on the link and on everything else,
	 * until the time that schedule_link_wait_began() returns. */
	SCHEDULE_WAIT_ON_LINK,
	/* It waits on everything except the link, until until_ns. */
	SCHEDULE_STEP_BACK,
	/* It asks whether a packet waits. */
	SCHEDULE_LOOK_AT_LINK,
	SCHEDULE_RUN_ENGINE,
	SCHEDULE_EXIT,
};

struct schedule_decision {
	enum schedule_action action;
	uint64_t until_ns;
	/* SCHEDULE_SLEEP: the limit of its length. */
	uint64_t longest_ns;
	/* SCHEDULE_YIELD: before it the thread measures a system call. The thread is a poller. */
	bool measures, polls;
	/* SCHEDULE_NOTHING before a look: the poll before it was long ago. */
	bool is_slow;
	/* SCHEDULE_SLEEP, SCHEDULE_STEP_BACK: when the thread wakes up, others go on. */
	bool lets_others_go_on;
	/* SCHEDULE_SLEEP: before it the thread gets a short time slice. */
	bool shortens_slice;
};

/* When something is due; UINT64_MAX: nothing is. */
struct schedule_timers {
	uint64_t engine_ns;
	uint64_t link_ns;
	/* How long the engine holds ACKs back. */
	uint32_t ack_hold_ns;
	/* The kernel refused packets for now, and they wait. */
	bool unsent;
};

enum schedule_state {
	SCHEDULE_IDLE,
	SCHEDULE_LISTENING,
	SCHEDULE_WOKEN,
	SCHEDULE_STEPPING_BACK,
	SCHEDULE_POLLER_SEEN,
	SCHEDULE_LOOKING,
	SCHEDULE_SERVING,
	SCHEDULE_SERVED_NOTHING,
};

/* Private to schedule_*.c. All threads read and write the atomics; no value but those of
 * stepping_back and polled_at_ns orders anything else. */
struct schedule {
	/* The unit, and what it takes to set a timer and to clear it. 0: not measured. */
	struct call_cost cost;
	_Atomic uint64_t timer_ns;
	/* This process, for its peers; NULL: it has no peers that see it. The process of the same
	 * host that it sent to last; NULL: it sent to another host. */
	struct presence *own;
	const struct presence *_Atomic peer;
	/* When a thread of the program last polled; FOUND_ALL_NS once it found something and
	 * expects nothing more: it may do anything next, such as spin on its own memory. 0: it is
	 * about to sleep in the kernel. */
	_Atomic uint64_t polled_at_ns;
	/* When it last polled an empty completion queue, whatever arrived then. */
	_Atomic uint64_t last_poll_ns;
	/* When the engine is due after the last poll, which found nothing. 0: it found something,
	 * or a thread has posted since. */
	_Atomic uint64_t idle_until_ns;
	/* From that time on a poll calls schedule_postponed(); 0: none does. The length of the
	 * background thread's step back. */
	_Atomic uint64_t postpone_at_ns, postpone_by_ns;
	/* The program has polled since then: it was not away when a poll was due to call
	 * schedule_postponed(). */
	_Atomic uint64_t polls_since_ns;
	/* Slow polls in a row that did not back off, as the program seems to yield itself. */
	_Atomic uint32_t looks;
	/* The current round of polls. */
	_Atomic uint32_t round;
	/* When and on which processor a thread of the program last posted or polled. */
	_Atomic uint64_t active_at_ns;
	_Atomic int active_cpu;
	/* Requests are posted whose completions have not come. */
	_Atomic bool expecting;
	/* Completion queues whose program wants an event. When it last posted or polled before it
	 * armed one. */
	_Atomic uint32_t armed_cqs;
	_Atomic uint64_t armed_at_ns;
	/* Arrivals that pollers found since the background thread last found one; stops at 8. */
	_Atomic uint32_t poller_arrivals;
	/* When the last yield returned soon, and how long there is no other; 0: it did not. */
	_Atomic uint64_t quiet_at_ns;
	_Atomic uint64_t quiet_ns;
	/* When a yield last showed that the machine is oversubscribed. */
	_Atomic uint64_t oversubscribed_at_ns;
	/* A poller that yielded has a short time slice. */
	_Atomic bool has_short_slice;
	/* A post yielded so: the next poller that sleeps still has its own time slice. */
	_Atomic bool shortens_slice;
	/* When pollers began to wait for a packet; 0: they do not. */
	_Atomic uint64_t wait_began_ns;
	struct turns turns;
	/* How long the next poller that finds nothing sleeps then. */
	_Atomic uint64_t sleep_ns;
	/* Threads that polled an empty completion queue and sleep on the link, or yield. */
	_Atomic uint32_t sleepers, yielders;
	/* One of the sleepers waits for an event, and says when it sleeps elsewhere. */
	_Atomic bool awaits_event;
	/* This many of the next waits for an event are on channels alone. */
	_Atomic uint32_t channel_waits;
	/* Polls of an empty completion queue since a thread last waited so, while one is armed. */
	_Atomic uint32_t armed_polls;
	/* When an ACK was last held back. */
	_Atomic uint64_t ack_held_at_ns;
	/* When the background thread reads the timers next; 0: before its next wait. */
	_Atomic uint64_t background_due_ns;
	_Atomic bool listening;
	_Atomic bool stepping_back;
	_Atomic bool stopping;

	/* State of the background thread alone. */
	enum schedule_state state;
	int cpu;
	bool has_one_cpu; /* it may use no other */
	/* What background_due_ns was when the last wait ended. */
	uint64_t due_ns;
	/* A packet ended it. */
	bool packet_waits;
	uint64_t step_back_ns;
	/* The last poll before the thread stepped back. */
	uint64_t polled_before_ns;
	uint64_t ran_at_ns, serve_until_ns;
	/* The last sleep on the link began. */
	uint64_t asleep_at_ns;
	/* The time to serve on after a packet, in units. The last one passed without a packet and
	 * without another thread that wanted the processor. */
	uint32_t linger;
	bool has_lingered;

	/* Does a thread hold the engine lock this moment? */
	bool (*is_engine_held)(void *arg);
	void *arg;
};

/* The background thread is about to start. What is known of the program's threads and completion
 * queues stays: they outlive an attachment. */
void schedule_start(struct schedule *s, bool (*is_engine_held)(void *arg), void *arg);
/* In the child after fork(): all threads and completion queues stayed with the parent. */
void schedule_forked(struct schedule *s);
/* The background thread shall exit. */
void schedule_stop(struct schedule *s);

/* The process has a slot; NULL: no more. No peer is known. */
void schedule_attached(struct schedule *s, struct presence *own);

/* Threads of the program. */

/* A thread posted, and sent something to a local peer that may need this processor: YIELD or
 * NOTHING. */
void schedule_posted(struct schedule *s, uint64_t now_ns, int cpu);
struct schedule_decision schedule_sent_to_local_peer(struct schedule *s, uint64_t now_ns);
/* Whether this poll of an empty completion queue begins a round: it shall run the engine. Else the
 * engine has just run for another queue, and this one was not polled since. *round: the queue's
 * own. */
bool schedule_begins_round(struct schedule *s, _Atomic uint32_t *round, uint64_t now_ns);
/* A thread polls. What it does before it runs the engine: YIELD, SLEEP or NOTHING. After the first
 * two, schedule_polled() follows. */
struct schedule_decision schedule_poll_began(struct schedule *s, uint64_t now_ns, int cpu);
/* It polls and is about to run the engine. */
void schedule_polled(struct schedule *s, uint64_t now_ns, int cpu);
/* It has run the engine, which is due at due_ns. 0: something arrived. began: what
 * schedule_poll_began() returned. What the thread does next: YIELD, SLEEP or NOTHING. */
struct schedule_decision schedule_looked(struct schedule *s, const struct schedule_decision *began,
					 uint64_t now_ns, uint64_t due_ns);
/* Reports that the thread received packets. Returns WAKE_BACKGROUND or NOTHING. */
struct schedule_decision schedule_packet_arrived(struct schedule *s);
/* Time of the last post or poll. */
uint64_t schedule_active_at_ns(struct schedule *s);
/* The program polls at now_ns: whether schedule_postponed() shall follow. It returns the new end of
 * the background thread's step back, or 0 if the end stays. due_ns: when the engine is due. */
static inline bool schedule_postpones(struct schedule *s, uint64_t now_ns)
{
	const uint64_t at_ns = atomic_load_explicit(&s->postpone_at_ns, memory_order_relaxed);

	return at_ns && now_ns >= at_ns;
}
uint64_t schedule_postponed(struct schedule *s, uint64_t now_ns, uint64_t due_ns);
/* The program got a completion. now_ns is needed only if schedule_expects_more(): it polls again
 * then. Returns whether the thread shall have its own time slice again. */
bool schedule_expects_more(struct schedule *s);
bool schedule_polled_found(struct schedule *s, uint64_t now_ns);
/* A thread is about to sleep in the kernel: WAKE_BACKGROUND or NOTHING. */
struct schedule_decision schedule_program_will_sleep(struct schedule *s);
/* A YIELD that was decided at asked_ns is over. Returns whether the thread shall have a short time
 * slice: the yield cost a poller the slices of others, or ran others and the process sends to
 * many. */
bool schedule_yield_returned(struct schedule *s, const struct schedule_decision *yielded,
			     uint64_t asked_ns, uint64_t now_ns);
/* A SLEEP is over. */
void schedule_sleep_returned(struct schedule *s, const struct schedule_decision *slept,
			     bool timed_out);

/* A system call that does nothing took this long, with a reading of the clock. */
void schedule_call_measured(struct schedule *s, uint64_t took_ns);
/* Whether the program answers many peers, polls, and does not wait for events. */
bool schedule_serves_many(struct schedule *s, uint64_t now_ns);
/* How long the engine shall hold an ACK back. */
uint32_t schedule_ack_hold_ns(struct schedule *s, uint64_t now_ns);
/* A thread waits for an event, away_ns after it got the last one. Returns how long it polls before
 * it sleeps. */
uint64_t schedule_event_awaited(struct schedule *s, uint64_t away_ns);
/* How long it waits on the link as well, at most. */
uint64_t schedule_event_wait_ns(void);
/* SLEEP: the thread shall poll once more, and then sleep on the link and on its channel. NOTHING:
 * it shall sleep on its channel alone, and schedule_event_wait_ended() does not follow. */
struct schedule_decision schedule_event_wait_began(struct schedule *s);
void schedule_event_wait_ended(struct schedule *s);

/* Any thread, under the engine lock. */

/* A thread is about to run the engine on this processor. */
void schedule_engine_runs(struct schedule *s, uint64_t now_ns, int cpu);
/* Something is about to leave for a process of this host; NULL: for another host. */
void schedule_sent_to(struct schedule *s, const struct presence *peer);
void schedule_cq_armed(struct schedule *s);
void schedule_cq_disarmed(struct schedule *s);
/* A thread is about to release the engine, whose time is now_ns: WAKE_BACKGROUND or NOTHING, to do
 * after the release. expecting: requests are posted whose completions have not come. */
struct schedule_decision schedule_engine_released(struct schedule *s, uint64_t now_ns,
						  const struct schedule_timers *timers,
						  bool expecting);

/* The background thread. */

/* The thread starts, and may use this many processors. To set a timer and clear it takes timer_ns,
 * if it is the first of its processor. */
void schedule_background_started(struct schedule *s, uint32_t num_cpus, uint64_t timer_ns);
/* What to do next. The thread is on this processor. */
struct schedule_decision schedule_background_next(struct schedule *s, uint64_t now_ns, int cpu);
/* WAIT_ON_LINK begins, under the engine lock. Returns when it ends at the latest. */
uint64_t schedule_link_wait_began(struct schedule *s, uint64_t now_ns,
				  const struct schedule_timers *timers);
/* packet_waits: the link woke the thread. */
void schedule_link_wait_returned(struct schedule *s, bool packet_waits);
/* STEP_BACK is over. was_woken: by an event, before its time. */
void schedule_step_back_returned(struct schedule *s, uint64_t now_ns, int cpu, bool was_woken);
void schedule_link_looked_at(struct schedule *s, bool packet_waits);
/* RUN_ENGINE is done, on this processor. */
void schedule_engine_ran(struct schedule *s, uint64_t now_ns, int cpu, bool arrived);
void schedule_background_yielded(struct schedule *s, uint64_t took_ns);

#endif
