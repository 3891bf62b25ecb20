// SPDX-License-Identifier: MIT
/* Hardware breakpoints of perf_event_open(2) on the threads of this process. */
#include "lib/check/breakpoint.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/check/stack.h"
#include "lib/control/folder.h"
#include "lib/control/process.h"

/* The longest stretch that a debug register watches. */
#define WATCHED_MAX 8u
/* A page of state and one of samples. */
#define SAMPLE_PAGES 2u

/* What read(2) gives, by PERF_FORMAT_TOTAL_TIME_RUNNING. */
struct count {
	uint64_t value, running_ns;
};

/* PERF_RECORD_SAMPLE, by PERF_SAMPLE_IP, TID and CALLCHAIN. */
struct sample {
	struct perf_event_header header;
	uint64_t pc;
	uint32_t pid, tid;
	uint64_t depth, caller[];
};

static size_t samples_len(void)
{
	return SAMPLE_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

/* The longest aligned stretch that ends with the bytes. */
static uint32_t watched(const uint8_t *at, size_t len)
{
	const uintptr_t end = (uintptr_t)at + len;
	uint32_t n = WATCHED_MAX;

	while (n > 1 && (n > len || end % n != 0))
		n /= 2;
	return n;
}

static bool add_thread(struct breakpoint *set, pid_t tid, uintptr_t at, uint32_t len)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_RW,
		.bp_addr = at,
		.bp_len = len,
		.sample_period = BREAKPOINT_LOOP,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
				    (unsigned long)PERF_FLAG_FD_CLOEXEC);
	void *samples;

	if (fd < 0)
		return false;
	samples = mmap(NULL, samples_len(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	set->thread[set->num_threads++] =
		(struct breakpoint_thread){ fd, samples == MAP_FAILED ? NULL : samples };
	return true;
}

bool breakpoint_set(struct breakpoint *ret, const uint8_t *at, size_t len)
{
	const uint32_t n = watched(at, len);
	const uintptr_t from = (uintptr_t)at + len - n;
	struct ctl_folder folder;
	const char *name;

	ret->num_threads = 0;
	ctl_folder_open(&folder, "/proc/self/task");
	while (ret->num_threads < BREAKPOINT_THREADS && (name = ctl_folder_next(&folder))) {
		const pid_t tid = atoi(name);

		if (tid > 0 && tid != gettid() && ctl_thread_is_runnable(tid) &&
		    !add_thread(ret, tid, from, n))
			break;
	}
	ctl_folder_close(&folder);
	return ret->num_threads > 0;
}

/* The sample of a thread's access number BREAKPOINT_LOOP. NULL: it has fewer accesses. */
static const struct sample *first_sample(const struct breakpoint_thread *thread)
{
	const struct perf_event_mmap_page *state = thread->samples;
	const struct sample *sample;

	if (!state || __atomic_load_n(&state->data_head, __ATOMIC_ACQUIRE) < sizeof(*sample))
		return NULL;
	sample = (const void *)((const char *)thread->samples + state->data_offset);
	return sample->header.type == PERF_RECORD_SAMPLE &&
			       sample->header.size >=
				       sizeof(*sample) + sample->depth * sizeof(uint64_t)
		       ? sample
		       : NULL;
}

/* False: the layer accessed the bytes, for itself or for a verb. */
static bool read_stack(const struct sample *sample, struct check_stack *ret)
{
	*ret = (struct check_stack){ .thread = sample->tid, .depth = 1, .pc = { sample->pc } };
	for (uint64_t i = 0; i < sample->depth && ret->depth < FINDING_DEPTH; i++) {
		const uint64_t pc = sample->caller[i];

		/* Context markers are negative; the innermost frame is the sample's own. */
		if (pc < PERF_CONTEXT_MAX && pc != sample->pc)
			ret->pc[ret->depth++] = pc;
	}
	for (uint32_t i = 0; i < ret->depth; i++) {
		if (check_stack_is_ours(ret->pc[i]))
			return false;
	}
	return true;
}

/* The first thread that has a sample. NULL: none has. */
static const struct sample *find_sample(const struct breakpoint *set)
{
	const struct sample *ret = NULL;

	for (uint32_t i = 0; i < set->num_threads && !ret; i++)
		ret = first_sample(&set->thread[i]);
	return ret;
}

bool breakpoint_is_loop(const struct breakpoint *set)
{
	return find_sample(set) != NULL;
}

bool breakpoint_stack(const struct breakpoint *set, struct check_stack *ret)
{
	const struct sample *sample = find_sample(set);

	return sample && read_stack(sample, ret);
}

uint64_t breakpoint_ran_ns(const struct breakpoint *set)
{
	uint64_t ret = UINT64_MAX;

	for (uint32_t i = 0; i < set->num_threads; i++) {
		struct count count;

		if (read(set->thread[i].fd, &count, sizeof(count)) == sizeof(count) &&
		    count.running_ns < ret)
			ret = count.running_ns;
	}
	return ret;
}

void breakpoint_clear(struct breakpoint *set)
{
	for (uint32_t i = 0; i < set->num_threads; i++) {
		if (set->thread[i].samples)
			munmap(set->thread[i].samples, samples_len());
		close(set->thread[i].fd);
	}
	set->num_threads = 0;
}
