// SPDX-License-Identifier: MIT
/* Clocks of threads and of what orders them, in a table that does not grow. */
#include "lib/check/clock.h"

#include <pthread.h>
#include <stddef.h>

#include "lib/watch/watch.h"

#define SYNCS 4096u /* a power of 2; all others share one place */

struct clock {
	uint32_t at[WATCH_THREADS]; /* how far of each thread is known */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct clock threads[WATCH_THREADS];
static struct {
	const void *sync; /* NULL: free */
	struct clock clock;
} places[SYNCS];
static struct clock others;
static uint32_t num_places;
/* Returns the calling thread's number; NULL: all threads are one. */
static uint32_t (*number)(void);

static struct clock *place_of(const void *sync)
{
	uint64_t hash = (uintptr_t)sync * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = (uint32_t)(hash >> 52);; i++) {
		if (places[i % SYNCS].sync == sync)
			return &places[i % SYNCS].clock;
		if (places[i % SYNCS].sync)
			continue;
		if (num_places == SYNCS / 2)
			return &others;
		num_places++;
		places[i % SYNCS].sync = sync;
		return &places[i % SYNCS].clock;
	}
}

static void join(struct clock *to, const struct clock *from)
{
	for (uint32_t i = 0; i < WATCH_THREADS; i++) {
		if (to->at[i] < from->at[i])
			to->at[i] = from->at[i];
	}
}

void clock_acquired(uint32_t thread, const void *sync)
{
	pthread_mutex_lock(&lock);
	join(&threads[thread], place_of(sync));
	pthread_mutex_unlock(&lock);
}

void clock_released(uint32_t thread, const void *sync)
{
	pthread_mutex_lock(&lock);
	threads[thread].at[thread]++;
	join(place_of(sync), &threads[thread]);
	pthread_mutex_unlock(&lock);
}

void clock_number_by(uint32_t (*thread)(void))
{
	number = thread;
}

struct clock_stamp clock_now(void)
{
	const uint32_t thread = number ? number() : 0;
	struct clock_stamp ret = { .thread = thread };

	pthread_mutex_lock(&lock);
	ret.at = threads[thread].at[thread] + 1;
	pthread_mutex_unlock(&lock);
	return ret;
}

bool clock_is_before(struct clock_stamp then)
{
	const uint32_t thread = number ? number() : 0;
	bool ret;

	if (then.thread == thread || !then.thread || !thread)
		return true;
	pthread_mutex_lock(&lock);
	ret = threads[thread].at[then.thread] >= then.at;
	pthread_mutex_unlock(&lock);
	return ret;
}

static void after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}
