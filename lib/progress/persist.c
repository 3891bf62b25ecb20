// SPDX-License-Identifier: MIT
/* The thread that makes memory persistent, and its jobs. Jobs run in the order of their tickets. */
#include "lib/progress/persist.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/mr.h"
#include "lib/control/cancel.h"
#include "lib/progress/progress.h"

enum persist_result {
	PERSIST_OK,
	PERSIST_AGAIN, /* ask again with the ticket; 0: there was no place for the job */
	PERSIST_ERROR,
};

/* Under the lock, which is released meanwhile. */
static void run_one(struct persist *persist)
{
	struct persist_job *job = &persist->job[persist->next++ % PERSIST_JOBS];
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t first = job->at & ~(page - 1), end = job->at + job->len;
	int rc;

	assert(job->state == PERSIST_WAITING);
	pthread_mutex_unlock(&persist->lock);
	rc = msync((void *)first, end - first, MS_SYNC);
	pthread_mutex_lock(&persist->lock);
	job->state = rc ? PERSIST_FAILED : PERSIST_DONE;
}

static void *thread_main(void *arg)
{
	struct persist *persist = arg;

	pthread_mutex_lock(&persist->lock);
	while (!persist->stops) {
		if (persist->next <= persist->last)
			run_one(persist);
		else
			pthread_cond_wait(&persist->begun, &persist->lock);
	}
	pthread_mutex_unlock(&persist->lock);
	return NULL;
}

/* The program's signals stay with its own threads. */
static bool start_thread(struct persist *persist)
{
	sigset_t all, before;

	if (persist->has_thread)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	persist->stops = false;
	persist->has_thread = pthread_create(&persist->thread, NULL, thread_main, persist) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (persist->has_thread)
		pthread_setname_np(persist->thread, "rxe_dm flush");
	return persist->has_thread;
}

void persist_init(struct persist *persist)
{
	memset(persist, 0, sizeof(*persist));
	persist->next = 1;
	pthread_mutex_init(&persist->lock, NULL);
	pthread_cond_init(&persist->begun, NULL);
}

void persist_stop(struct persist *persist)
{
	pthread_mutex_lock(&persist->lock);
	persist->stops = true;
	pthread_cond_signal(&persist->begun);
	pthread_mutex_unlock(&persist->lock);
	if (persist->has_thread)
		pthread_join(persist->thread, NULL);
	persist->has_thread = false;
}

/* Under the lock. No thread, or no place: the caller asks again. */
static enum persist_result begin(struct persist *persist, uintptr_t at, size_t len,
				 uint64_t *ticket)
{
	struct persist_job *job = &persist->job[(persist->last + 1) % PERSIST_JOBS];

	if (job->state == PERSIST_WAITING || !start_thread(persist))
		return PERSIST_AGAIN;
	*job = (struct persist_job){ .at = at, .len = len, .state = PERSIST_WAITING };
	*ticket = ++persist->last;
	pthread_cond_signal(&persist->begun);
	return PERSIST_AGAIN;
}

/* Under the lock. A ticket of before fork(), or a result that was forgotten, begins again. */
static enum persist_result ask(struct persist *persist, uintptr_t at, size_t len, uint64_t *ticket)
{
	if (*ticket == 0 || *ticket > persist->last || persist->last - *ticket >= PERSIST_JOBS)
		return begin(persist, at, len, ticket);
	switch (persist->job[*ticket % PERSIST_JOBS].state) {
	case PERSIST_DONE: return PERSIST_OK;
	case PERSIST_FAILED: return PERSIST_ERROR;
	case PERSIST_IDLE:
	case PERSIST_WAITING: return PERSIST_AGAIN;
	}
	return PERSIST_ERROR;
}

/* Begins a job for [at, at + len) of this process, or asks for the one of *ticket. */
static enum persist_result persist_range(struct persist *persist, uintptr_t at, size_t len,
					 uint64_t *ticket)
{
	enum persist_result result;

	pthread_mutex_lock(&persist->lock);
	result = ask(persist, at, len, ticket);
	pthread_mutex_unlock(&persist->lock);
	return result;
}

bool host_mem_persist(void *host, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
		      uint64_t *ticket)
{
	struct progress *progress = host;

	if (mr->kind != RXE_MR_PLAIN || mr->owner != progress->attachment->slot)
		return false;
	switch (persist_range(&progress->persist, (uintptr_t)(mr->addr + (iova - mr->iova)), len,
			      ticket)) {
	case PERSIST_OK: return true;
	case PERSIST_AGAIN: progress->remote_requests.is_deferred = true; return false;
	case PERSIST_ERROR: return false;
	}
	return false;
}

/* A line of /proc/self/maps: "from-to perms offset device inode path". */
static bool is_of_file(const char *line, uintptr_t *ret_from, uintptr_t *ret_to)
{
	static const char deleted[] = " (deleted)\n";
	const size_t len = strlen(line), end = sizeof(deleted) - 1;
	uint64_t inode = 0;
	char perms[5] = "";

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64, ret_from, ret_to, perms,
		   &inode) != 4) {
		*ret_from = *ret_to = 0;
		return false;
	}
	return perms[3] == 's' && inode != 0 && (len < end || strcmp(line + len - end, deleted));
}

bool persist_is_possible(const void *addr, size_t len)
{
	uintptr_t at = (uintptr_t)addr, end = at + len, from, to;
	char line[512];
	NO_CANCEL;
	FILE *maps = fopen("/proc/self/maps", "re");
	bool starts = true;

	/* The kernel sorts the lines by address. A long path takes several reads. */
	while (maps && at < end && fgets(line, sizeof(line), maps)) {
		const bool is_file = starts && is_of_file(line, &from, &to);

		if (starts && from <= at && at < to) {
			if (!is_file)
				break;
			at = to;
		}
		starts = strchr(line, '\n');
	}
	if (maps)
		fclose(maps);
	return at >= end;
}
