/* SPDX-License-Identifier: MIT */
/* A kernel's scheduler as a model in virtual time: processors, run queues, time slices, yields,
 * sleeps and wake-ups. The plain model has one queue, first come, first served; fair.h has those of
 * Linux, a queue for each processor in the order of virtual run times. A machine may be slower or
 * faster than the one whose costs the programs state, and a hypervisor may take its processors away
 * now and then. It may also set the timers, send the interrupts and wake the processors of its
 * virtual machine, each of which takes exit_ns.
 *
 * A thread is a function. The model calls it when the thread has a processor and has finished its
 * last operation, and the function returns the next one. The function's own work takes no time and
 * is not interrupted; the operation takes time, and the thread may lose its processor meanwhile,
 * with whatever locks it holds. Called by tests/sim/programs.c and those that
 * run it. */
#ifndef RXE_SIM_KERNEL_H
#define RXE_SIM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_MAX_CPUS	   8
#define KERNEL_MAX_THREADS 600
#define KERNEL_ANY_CPU	   (-1)

enum kernel_operation {
	KERNEL_RUN,   /* ns of processor time */
	KERNEL_YIELD, /* sched_yield(2) */
	KERNEL_WAIT,  /* until kernel_wake(), or until_ns and the timers' slack */
	KERNEL_EXIT,
};

struct kernel_next {
	enum kernel_operation operation;
	uint64_t ns;
	uint64_t until_ns;
};

enum kernel_state {
	KERNEL_WAITS,
	KERNEL_QUEUED,
	KERNEL_RUNS,
	KERNEL_EXITED,
};

struct kernel_thread {
	struct kernel_next (*next)(struct kernel_thread *thread);
	/* The processor that it may use, or KERNEL_ANY_CPU. */
	int pinned;
	enum kernel_state state;
	/* The processor that it has, had last, or whose queue it is in. */
	int cpu;
	/* Processor time that the operation under way still takes. */
	uint64_t left_ns;
	/* The end of a wait, and whether it was reached. */
	uint64_t until_ns, wait_began_ns;
	bool timed_out;
	/* fair.c: the virtual run time, the virtual deadline, the time slice (0: the kernel's), and
	 * how far before the average the thread was when its wait began. */
	uint64_t vruntime_ns, deadline_ns, slice_ns;
	int64_t lag_ns;
	/* CFS: it has just yielded. */
	bool skipped;
	/* fair.c: of the policy SCHED_BATCH; it preempts no thread when it wakes up. */
	bool is_batch;
	/* The end of its wait was the first timer of the processor. */
	bool has_first_timer;
};

/* When a woken thread runs, where no processor is idle. */
enum kernel_wake_up {
	KERNEL_WAKE_PREEMPTS, /* at once, in place of a thread that has had granularity_ns */
	KERNEL_WAKE_IS_NEXT,  /* when a thread gives its processor away, or its slice is over */
	KERNEL_WAKE_IS_LAST,  /* after all others */
	KERNEL_NUM_WAKE_UPS,
};

/* The thread of a queue that is next. */
enum kernel_order {
	KERNEL_FIFO,
	/* Linux until 6.5: the lowest virtual run time. A yield gives way once, to a thread that is
	 * not too far ahead. */
	KERNEL_CFS,
	/* Linux from 6.6: the earliest virtual deadline of those that have not had more than their
	 * share. A yield gives up the rest of the slice, as since 6.18. */
	KERNEL_EEVDF,
	KERNEL_NUM_ORDERS,
};

struct kernel_cfg {
	enum kernel_order order;
	/* Processor time of all operations in percent of what the programs state. 0: 100. */
	uint32_t scale_percent;
	/* A hypervisor takes each processor away for this long, this often on average; 0: never. */
	uint64_t stolen_ns, stolen_every_ns;
	/* How long a virtual machine is left for each request to its host; 0: it is none. */
	uint64_t exit_ns;
	int num_cpus;
	/* fair.h: between three and five quarters of it, by random numbers from the seed. */
	uint64_t slice_ns, seed;
	/* FIFO: a thread that has its processor from another's yield keeps it for a time slice: its
	 * own yields return at once. */
	bool yields_cost_slices;
	uint64_t granularity_ns;
	/* A timed wait lasts longer by this much. */
	uint64_t slack_ns;
	/* FIFO. */
	enum kernel_wake_up wake_up;
};

struct kernel_cpu {
	struct kernel_thread *thread; /* NULL: idle */
	uint64_t dispatched_ns, slice_ns;
	bool keeps_slice;
	uint64_t busy_until_ns;
	/* fair.c: up to when its thread's virtual run time is charged. */
	uint64_t charged_ns;
	/* When the next theft begins. */
	uint64_t theft_ns;
	/* It had nothing to do, and its host has halted it. */
	bool is_halted;
	/* The host answers a request until then. */
	uint64_t exit_until_ns;
};

struct kernel {
	struct kernel_cfg cfg;
	uint64_t now_ns;
	struct kernel_cpu cpu[KERNEL_MAX_CPUS];
	struct kernel_thread *queue[KERNEL_MAX_THREADS];
	uint32_t num_queued;
	struct kernel_thread *thread[KERNEL_MAX_THREADS];
	uint32_t num_threads;
	/* When the first timed wait ends. */
	uint64_t timer_ns;
	/* The processor whose thread's function runs, or -1; that thread is preempted after it. */
	int stepping;
	bool preempts_stepping;
	/* State of the generator of their times. */
	uint64_t random;
};

void kernel_init(struct kernel *kernel, const struct kernel_cfg *cfg, uint64_t now_ns);
/* A new thread is in the run queue. */
void kernel_add(struct kernel *kernel, struct kernel_thread *thread);
/* Runs all threads up to this time. */
void kernel_run(struct kernel *kernel, uint64_t until_ns);
/* The wait of the thread ends later. Returns the processor time of the exits. */
uint64_t kernel_postpone(struct kernel *kernel, struct kernel_thread *thread, uint64_t until_ns);
bool kernel_may_use(const struct kernel_thread *thread, int cpu);
/* Ends the thread's wait, if it waits. */
void kernel_wake(struct kernel *kernel, struct kernel_thread *thread);

#endif
