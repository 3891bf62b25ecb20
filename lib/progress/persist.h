/* SPDX-License-Identifier: MIT */
/* Persistence: what FLUSHes cover is written to the files that it is mapped from, msync(2), by a
 * thread of its own. msync() may take as long as the disk does, and the engine waits for nothing:
 * it begins a job, and asks again with the job's ticket (mem_persist of emu/host.h). The thread
 * starts with the first job. */
#ifndef RXE_PROGRESS_PERSIST_H
#define RXE_PROGRESS_PERSIST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Jobs at a time. An older result that was never requested is forgotten. */
#define PERSIST_JOBS 64

enum persist_state {
	PERSIST_IDLE,
	PERSIST_WAITING, /* or the thread runs it */
	PERSIST_DONE,
	PERSIST_FAILED,
};

struct persist_job {
	uintptr_t at;
	size_t len;
	enum persist_state state;
};

struct persist {
	/* Taken under the engine lock, never the other way round. Protects all below. */
	pthread_mutex_t lock;
	pthread_cond_t begun;
	struct persist_job job[PERSIST_JOBS]; /* by ticket modulo PERSIST_JOBS */
	uint64_t last;			      /* newest ticket; from 1 */
	uint64_t next;			      /* the thread's */
	bool has_thread, stops;
	pthread_t thread;
};

/* Also in the child after fork(): the thread is not the child's. */
void persist_init(struct persist *persist);
/* Waits for the job that runs and ends the thread. Not under the engine lock. */
void persist_stop(struct persist *persist);

/* Whether msync() makes all of this memory persistent: shared mappings of files that have a name,
 * also in /dev/shm, whose files outlive processes and not the machine. */
bool persist_is_possible(const void *addr, size_t len);

#endif
