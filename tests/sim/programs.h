/* SPDX-License-Identifier: MIT */
/* Programs on simulated processors, each with a device and its background thread. The threads call
 * lib/progress/schedule.h as lib/progress/poll.c, thread.c, host.c and progress.c do, in the same
 * order, and carry out what it decides. The engine is a queue of packets and a few timers. Called
 * by processors.c, machines.c and starvation.c. */
#ifndef RXE_SIM_PROGRAMS_H
#define RXE_SIM_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/progress/schedule.h"
#include "tests/sim/kernel.h"

#define PROGRAMS_MAX	    256
#define PROGRAM_MAX_THREADS 2
#define PROGRAMS_MAX_HOGS   16
#define PROGRAMS_MAX_QPS    512
#define PROGRAM_SOCKET	    128
#define PROGRAM_CQ	    64
/* A timer holds a message for no longer. */
#define PROGRAM_HELD_MAX_NS 3000000u

enum program_role {
	ROLE_POLLS,  /* polls its completion queue */
	ROLE_EVENTS, /* arms its completion queue and sleeps */
	ROLE_MEMORY, /* spins on its own memory, calls the device only to send */
	ROLE_SLEEPS, /* the target of one-sided operations sleeps */
	ROLE_BUSY,   /* the target of one-sided operations computes */
	/* Polls two completion queues in turn, and yields itself when both are empty. Sends to its
	 * next peer once it has a message of the last. */
	ROLE_RANK,
	NUM_ROLES,
};

enum program_wait {
	WAIT_NOTHING,
	WAIT_LINK = 1,
	WAIT_WAKE = 2, /* an eventfd of the background thread */
	WAIT_LOCK = 4,
	WAIT_EVENT = 8,
};

struct program;
struct actor;
typedef struct kernel_next (*actor_step)(struct actor *actor);

/* One end of a conversation. */
struct queue_pair {
	/* Who posts to it and takes its messages. */
	struct actor *actor;
	struct queue_pair *peer;
	/* The next one of the program. */
	struct queue_pair *next;
	/* Under the engine lock: messages to send, messages that a timer holds, its time. */
	uint32_t to_send, held;
	uint64_t held_until_ns, ack_due_ns;
	/* Messages that the thread has found; ROLE_RANK: those that it has not answered. */
	uint32_t found;
	/* Something was sent that the peer has not acknowledged. */
	bool unacked;
	/* Expiry of the local ACK timer, retries spent since the last packet of the peer. */
	uint64_t retry_at_ns;
	uint32_t retries;
};

/* A thread. */
struct actor {
	struct kernel_thread thread;
	struct program *program;
	uint32_t waits_on; /* enum program_wait */
	actor_step step;
	actor_step after_lock, after_back_off, after_look, after_poll, after_measure;
	struct schedule_decision decision, before;
	uint64_t now_ns, due_ns, spin_until_ns, wait_until_ns, had_event_at_ns;
	bool arrived, found_nothing;

	/* A thread of the program. */
	enum program_role role;
	/* What it posts next, and to which queue pair. */
	struct queue_pair *qp;
	uint32_t to_post;
	/* Its completion queue: whose messages have come. */
	struct queue_pair *cq[PROGRAM_CQ];
	uint32_t cq_head, cq_tail, events;
	bool armed, done;
	/* ROLE_RANK: the peer whose message it waits for, and its two queues. */
	struct queue_pair *awaited;
	_Atomic uint32_t round[2];
	/* Messages that it has found, and when the last one. */
	uint64_t found, found_at_ns;
};

enum packet_kind {
	PACKET_MESSAGE,
	PACKET_ACK,
	PACKET_DUPLICATE, /* of a message, for which the peer asks again */
};

struct packet {
	struct queue_pair *to;
	enum packet_kind kind;
	uint64_t arrived_ns;
};

struct program {
	struct programs *programs;
	struct schedule schedule;
	struct presence presence;
	struct actor *holder; /* of the engine lock; NULL: free */
	uint64_t engine_now_ns;
	/* The kernel takes no packets before this time; packets wait. */
	uint64_t refuses_until_ns, unsent_since_ns;
	struct packet socket[PROGRAM_SOCKET];
	uint32_t socket_head, socket_tail;
	bool wake_pending;
	struct actor background, thread[PROGRAM_MAX_THREADS];
	uint32_t num_threads;
	struct queue_pair *qps;
};

/* What the oracle receives. */
struct programs_observer {
	void (*packet_received)(struct program *program, const struct packet *packet);
	void (*polled)(struct program *program);
	void (*poll_sleeps)(struct program *program);
	void (*background_decided)(struct program *program,
				   const struct schedule_decision *decision);
	/* The background thread waited on the link. slept: it found nothing there. */
	void (*link_wait_returned)(struct program *program, bool slept);
	/* The local ACK timer expired this often in a row. */
	void (*timed_out)(struct program *program, uint32_t retries);
	/* A thread that released the engine woke the background thread. */
	void (*engine_woke)(struct program *program);
};

/* What a poller does that finds nothing. */
enum programs_policy {
	POLICY_OURS,  /* what lib/progress/schedule_*.c decides */
	POLICY_SPIN,  /* polls again */
	POLICY_YIELD, /* yields each time */
	POLICY_SLEEP, /* sleeps on the link each time */
	NUM_POLICIES,
};

struct programs_cfg {
	enum programs_policy policy;
	/* Nothing is measured: the schedule of a fast machine. */
	bool is_frozen;
	/* What reading the clock takes beside the rest. */
	uint64_t clock_ns;

	bool holds_acks;
	/* In 1000: messages after which a program computes, at most this long; messages that a
	 * timer holds; sends that the kernel refuses. */
	uint32_t thinks, held, refused;
	uint64_t think_max_ns;
	/* Messages that a conversation begins with. */
	uint32_t window;
	/* Local ACK timeout; 0: none. */
	uint64_t timeout_ns;
};

struct programs {
	struct kernel kernel;
	struct programs_cfg cfg;
	const struct programs_observer *observer;
	uint64_t seed;
	bool shows_trace;
	/* No process sends any more. */
	bool finishing;
	struct program program[PROGRAMS_MAX];
	uint32_t num;
	struct queue_pair qp[PROGRAMS_MAX_QPS];
	uint32_t num_qps;
	struct kernel_thread hog[PROGRAMS_MAX_HOGS];
	uint32_t num_hogs;
};

uint32_t programs_random(struct programs *programs, uint32_t limit);
struct program *programs_add(struct programs *programs);
/* A conversation between two threads of two programs. The first begins. */
void programs_connect(struct programs *programs, struct program *a, enum program_role role_a,
		      struct program *b, enum program_role role_b, int pinned);
/* A program that answers clients, each of which sends one message at a time. */
void programs_add_server(struct programs *programs, enum program_role role, uint32_t clients);
/* Programs that exchange messages as in a collective operation: each sends to one peer after the
 * other, and each time waits for the message of that one. num: a power of 2. */
void programs_add_ranks(struct programs *programs, uint32_t num);
/* A thread of something else, which computes. */
void programs_add_hog(struct programs *programs);
/* All end what they do, and send nothing more. */
void programs_finish(struct programs *programs);
/* The device is closed: the background thread shall exit. */
void program_stop(struct program *program);
/* The earliest deadline of the program's engine, UINT64_MAX: none. */
uint64_t program_deadline_ns(const struct program *program);

#endif
