// SPDX-License-Identifier: MIT
/* Writes refusals into shared memory, as owner.c writes failures. */
#include "lib/verbs/refused.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/control/settings.h"
#include "lib/control/shared.h"
#include "lib/refusal/refusal.h"
#include "net/link/clock.h"

/* A leaf: held for one record. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ctl_slot *attached[CTL_DEVICE_MAX]; /* by index of the device; or NULL */

static struct ctl_slot *first_slot(void)
{
	for (size_t i = 0; i < CTL_DEVICE_MAX; i++)
		if (attached[i])
			return attached[i];
	return NULL;
}

static uint64_t since_1970_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The newest record has the same refusal, and counts it. */
static bool is_same(const struct ctl_refusal *record, const char *call, const char *why)
{
	return strcmp(record->call, call) == 0 &&
	       strncmp(record->why, why, sizeof(record->why) - 1) == 0;
}

static void record(struct ctl_slot *slot, const struct refusal *refusal)
{
	struct ctl_slot_refusals *refusals = &slot->refusals;
	const uint32_t count = atomic_load_explicit(&refusals->count, memory_order_relaxed);
	struct ctl_refusal *newest = &refusals->at[(count - 1) % CTL_REFUSALS_OF_SLOT];
	struct ctl_refusal *next = &refusals->at[count % CTL_REFUSALS_OF_SLOT];
	char line[REFUSAL_CALL + CTL_REFUSAL_WHY + 64];
	const char *why = line + strlen(refusal->call) + 2;

	refusal_line(refusal, line, sizeof(line));
	if (count && is_same(newest, refusal->call, why)) {
		newest->times++;
		newest->time_ns = clock_now_ns();
		return;
	}
	*next = (struct ctl_refusal){ .time_ns = clock_now_ns(),
				      .epoch_ns = since_1970_ns(),
				      .pid = atomic_load(&slot->pid),
				      .error = refusal->error,
				      .times = 1 };
	memcpy(next->comm, slot->comm, sizeof(next->comm));
	snprintf(next->call, sizeof(next->call), "%s", refusal->call);
	snprintf(next->why, sizeof(next->why), "%s", why);
	atomic_store_explicit(&refusals->count, count + 1, memory_order_release);
}

static void keep(const struct refusal *refusal)
{
	struct ctl_slot *slot;

	pthread_mutex_lock(&lock);
	slot = first_slot();
	if (slot)
		record(slot, refusal);
	pthread_mutex_unlock(&lock);
}

void vb_refused_attach(uint32_t device, struct ctl_slot *slot)
{
	refusal_keep_by(keep);
	pthread_mutex_lock(&lock);
	attached[device % CTL_DEVICE_MAX] = slot;
	pthread_mutex_unlock(&lock);
}

void vb_refused_detach(uint32_t device)
{
	pthread_mutex_lock(&lock);
	attached[device % CTL_DEVICE_MAX] = NULL;
	pthread_mutex_unlock(&lock);
}

void vb_refused_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(attached, 0, sizeof(attached));
}
