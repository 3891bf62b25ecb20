// SPDX-License-Identifier: MIT
/* The file of this process: made at its first call, and again after a fork. */
#include "lib/record/ring.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "lib/control/process.h"

#define FILE_BYTES (RECORD_HEAD_BYTES + RECORD_SLOTS * sizeof(struct record_call))
#define PAIRS	   16
/* The most files that processes with one number leave: execve(2) keeps the number. */
#define FILES_MAX 1000

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool opened;
static _Atomic(struct record_head *) ring; /* NULL: the process is not recorded */
static __thread uint32_t thread;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t record_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* From CLOCK_MONOTONIC to 1970, by the closest of several pairs of both clocks. */
static int64_t epoch_ns(void)
{
	uint64_t least = UINT64_MAX, ret = 0;

	for (int i = 0; i < PAIRS; i++) {
		const uint64_t before = record_now(), real = clock_ns(CLOCK_REALTIME);
		const uint64_t took = record_now() - before;

		if (took < least) {
			least = took;
			ret = real - before - took / 2;
		}
	}
	return (int64_t)ret;
}

static void write_table(char ret[static RECORD_TABLE])
{
	static const char *const lines[RECORD_VERB_END] = {
#define RECORD_LINE(name, line) [RECORD_##name] = line,
		RECORD_VERBS(RECORD_LINE)
#undef RECORD_LINE
	};
	size_t at = 0;

	for (size_t i = 0; i < RECORD_VERB_END; i++)
		at += (size_t)snprintf(ret + at, RECORD_TABLE - at, "%s\n", lines[i]);
	assert(at < RECORD_TABLE);
}

static int create_file(const char *folder)
{
	char path[PATH_MAX];
	int fd = -1;

	for (int i = 0; fd < 0 && i < FILES_MAX; i++) {
		snprintf(path, sizeof(path), "%s/calls-%d-%d", folder, (int)getpid(), i);
		fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* Allocates the whole file: a store to a page for which there is no space would end the program. */
static struct record_head *map_file(int fd)
{
	struct record_head *ret;
	int err = fd < 0 ? errno : posix_fallocate(fd, 0, FILE_BYTES);

	if (err) {
		errno = err;
		return NULL;
	}
	ret = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return ret == MAP_FAILED ? NULL : ret;
}

static struct record_head *open_ring(void)
{
	const char *folder = secure_getenv("RXE_DM_RECORD");
	const int fd = folder && *folder ? create_file(folder) : -1;
	struct record_head *ret;

	if (!folder || !*folder)
		return NULL;
	ret = map_file(fd);
	if (!ret)
		ctl_log(CTL_LOG_WARNING, "no record of verbs in %s: %s", folder, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (!ret)
		return NULL;
	ret->head_bytes = RECORD_HEAD_BYTES;
	ret->call_bytes = sizeof(struct record_call);
	ret->slots = RECORD_SLOTS;
	ret->pid = getpid();
	ret->epoch_ns = epoch_ns();
	ctl_process_comm(ret->comm);
	write_table(ret->table);
	ret->magic = RECORD_MAGIC;
	return ret;
}

static struct record_head *ring_of_process(void)
{
	NO_CANCEL;

	if (atomic_load(&opened))
		return atomic_load(&ring);
	pthread_mutex_lock(&opening);
	if (!atomic_load(&opened)) {
		atomic_store(&ring, open_ring());
		atomic_store(&opened, true);
	}
	pthread_mutex_unlock(&opening);
	return atomic_load(&ring);
}

static struct record_call *slot(struct record_head *head, uint64_t number)
{
	struct record_call *first =
		(struct record_call *)(void *)((char *)head + RECORD_HEAD_BYTES);

	return &first[number % RECORD_SLOTS];
}

static void write_call(struct record_head *head, const struct record_call *call)
{
	const uint64_t number = atomic_fetch_add(&head->next, 1);
	struct record_call *to = slot(head, number);

	atomic_store(&to->number, 0);
	to->time_ns = call->time_ns;
	to->took_ns = call->took_ns;
	to->thread = call->thread;
	to->verb = call->verb;
	to->num_args = call->num_args;
	to->error = call->error;
	memcpy(to->arg, call->arg, sizeof(to->arg));
	/* A reader takes the entry only with its number. */
	atomic_store(&to->number, number + 1);
}

void record_add(enum record_verb verb, uint64_t began_ns, int error, const uint64_t *arg,
		uint32_t num_args)
{
	const int saved = errno;
	struct record_head *head = ring_of_process();
	const uint64_t took = record_now() - began_ns;
	struct record_call call = {
		.time_ns = began_ns,
		.took_ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX,
		.verb = (uint16_t)verb,
		.num_args = (uint16_t)num_args,
		.error = error,
	};

	assert(num_args <= RECORD_ARGS);
	if (head) {
		if (!thread)
			thread = (uint32_t)gettid();
		call.thread = thread;
		if (num_args > 0)
			memcpy(call.arg, arg, num_args * sizeof(*arg));
		write_call(head, &call);
	}
	errno = saved;
}

static void before_fork(void)
{
	pthread_mutex_lock(&opening);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&opening);
}

/* The mapping is the parent's. */
static void after_fork_in_child(void)
{
	atomic_store(&opened, false);
	atomic_store(&ring, NULL);
	thread = 0;
	pthread_mutex_unlock(&opening);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
