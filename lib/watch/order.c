// SPDX-License-Identifier: MIT
/* What orders threads: locks, conditions, semaphores, barriers, the begin and the end of a thread.
 * What a lock protects is ordered from each unlock to the next lock. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#include "lib/watch/next.h"

#define NEXT(name)                                                                                 \
	(__extension__({                                                                           \
		static __typeof__(&name) next_##name;                                              \
		if (!next_##name)                                                                  \
			next_##name = (__typeof__(next_##name))watch_next(#name);                  \
		next_##name;                                                                       \
	}))

#define NEXT_CONDITION(name)                                                                       \
	(__extension__({                                                                           \
		static __typeof__(&name) next_##name;                                              \
		if (!next_##name)                                                                  \
			next_##name = (__typeof__(next_##name))next_condition(#name);              \
		next_##name;                                                                       \
	}))

/* Condition variables of glibc before 2.3.2 have another layout under the same name. */
static void *next_condition(const char *name)
{
#ifdef __GLIBC__
	void *const next = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	if (next)
		return next;
#endif
	return watch_next(name);
}

/* The listener's own library locks as well, which orders nothing of the program. */
static bool wants(const void *caller)
{
	return atomic_load_explicit(&watch.order, memory_order_relaxed) &&
	       !((const char *)caller >= watch.listener.start &&
		 (const char *)caller < watch.listener.end);
}
#define WANTS wants(__builtin_return_address(0))

/* A function that returns 0 when it has the lock. */
#define ACQUIRES(name, parameters, ...)                                                            \
	WATCH_EXPORT int name parameters                                                           \
	{                                                                                          \
		const int err = NEXT(name)(__VA_ARGS__);                                           \
                                                                                                   \
		if (!err && WANTS)                                                                 \
			watch_acquired((const void *)(uintptr_t)lock);                             \
		return err;                                                                        \
	}
#define RELEASES(name, type)                                                                       \
	WATCH_EXPORT int name(type *lock)                                                          \
	{                                                                                          \
		if (WANTS)                                                                         \
			watch_released((const void *)(uintptr_t)lock);                             \
		return NEXT(name)(lock);                                                           \
	}

typedef const struct timespec when;

ACQUIRES(pthread_mutex_lock, (pthread_mutex_t * lock), lock)
ACQUIRES(pthread_mutex_trylock, (pthread_mutex_t * lock), lock)
ACQUIRES(pthread_mutex_timedlock, (pthread_mutex_t * lock, when *end), lock, end)
RELEASES(pthread_mutex_unlock, pthread_mutex_t)
ACQUIRES(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), lock)
ACQUIRES(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), lock)
ACQUIRES(pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), lock)
ACQUIRES(pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), lock)
ACQUIRES(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, when *end), lock, end)
ACQUIRES(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, when *end), lock, end)
RELEASES(pthread_rwlock_unlock, pthread_rwlock_t)
ACQUIRES(pthread_spin_lock, (pthread_spinlock_t * lock), lock)
ACQUIRES(pthread_spin_trylock, (pthread_spinlock_t * lock), lock)
RELEASES(pthread_spin_unlock, pthread_spinlock_t)
ACQUIRES(mtx_lock, (mtx_t * lock), lock)
ACQUIRES(mtx_trylock, (mtx_t * lock), lock)
RELEASES(mtx_unlock, mtx_t)
ACQUIRES(sem_wait, (sem_t * lock), lock)
ACQUIRES(sem_trywait, (sem_t * lock), lock)
ACQUIRES(sem_timedwait, (sem_t * lock, when *end), lock, end)
RELEASES(sem_post, sem_t)

WATCH_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	const bool wanted = WANTS;
	int rc;

	if (wanted)
		watch_released(barrier);
	rc = NEXT(pthread_barrier_wait)(barrier);
	if (wanted)
		watch_acquired(barrier);
	return rc;
}

/* Waiting gives the mutex up and takes it again. */
static void waits(const pthread_cond_t *cond, const pthread_mutex_t *mutex, bool before)
{
	if (before) {
		watch_released(mutex);
		return;
	}
	watch_acquired(mutex);
	watch_acquired(cond);
}

WATCH_EXPORT int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
	const bool wanted = WANTS;
	int err;

	if (wanted)
		waits(cond, mutex, true);
	err = NEXT_CONDITION(pthread_cond_wait)(cond, mutex);
	if (wanted)
		waits(cond, mutex, false);
	return err;
}

WATCH_EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict cond,
					pthread_mutex_t *restrict mutex, when *restrict end)
{
	const bool wanted = WANTS;
	int err;

	if (wanted)
		waits(cond, mutex, true);
	err = NEXT_CONDITION(pthread_cond_timedwait)(cond, mutex, end);
	if (wanted)
		waits(cond, mutex, false);
	return err;
}

WATCH_EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	if (WANTS)
		watch_released(cond);
	return NEXT_CONDITION(pthread_cond_signal)(cond);
}

WATCH_EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (WANTS)
		watch_released(cond);
	return NEXT_CONDITION(pthread_cond_broadcast)(cond);
}

struct start {
	void *(*run)(void *arg);
	void *arg;
};

static const void *name_of(pthread_t thread)
{
	return (const void *)(uintptr_t)thread;
}

/* Also where the thread ends by pthread_exit(3) or is cancelled. */
static void ended(void *arg)
{
	(void)arg;
	if (atomic_load_explicit(&watch.order, memory_order_relaxed))
		watch_released(name_of(pthread_self()));
}

static void *begin(void *arg)
{
	struct start start = *(struct start *)arg;
	void *ret;

	watch_thread_begins();
	if (atomic_load_explicit(&watch.order, memory_order_relaxed))
		watch_acquired(arg);
	free(arg);
	pthread_cleanup_push(ended, NULL);
	ret = start.run(start.arg);
	pthread_cleanup_pop(1);
	return ret;
}

WATCH_EXPORT int pthread_create(pthread_t *restrict ret, const pthread_attr_t *restrict attr,
				void *(*run)(void *arg), void *restrict arg)
{
	const char *caller = __builtin_return_address(0);
	struct start *start;
	int err;

	/* A thread that the listener's library makes is not the program's. */
	if (caller >= watch.listener.start && caller < watch.listener.end)
		return NEXT(pthread_create)(ret, attr, run, arg);
	start = malloc(sizeof(*start));
	if (!start)
		return NEXT(pthread_create)(ret, attr, run, arg);
	*start = (struct start){ run, arg };
	if (WANTS)
		watch_released(start);
	err = NEXT(pthread_create)(ret, attr, begin, start);
	if (err)
		free(start);
	return err;
}

WATCH_EXPORT int pthread_join(pthread_t thread, void **ret)
{
	const int err = NEXT(pthread_join)(thread, ret);

	if (!err && WANTS)
		watch_acquired(name_of(thread));
	return err;
}
