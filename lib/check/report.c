// SPDX-License-Identifier: MIT
/* Writes findings to the memory that the server keeps, and notifies the command, which prints them.
 * Where no command listens, this file prints them itself. */
#include "lib/check/report.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/check/check.h"
#include "lib/check/module.h"
#include "lib/check/stack.h"
#include "lib/control/cancel.h"
#include "lib/control/client.h"
#include "lib/control/process.h"
#include "lib/findings/record.h"
#include "lib/verbs/device_list.h"
#include "lib/verbs/forks.h"

static _Atomic(struct findings *) area;
static _Atomic int32_t area_pid;
static _Atomic uint32_t area_forks; /* lib/verbs/forks.h: asking for the process is a system call */
static uint64_t keys[FINDINGS_MAX]; /* of the findings in the area */

static uint64_t run_number(void)
{
	const char *run = secure_getenv("RXE_DM_CHECK_RUN");

	return run ? strtoull(run, NULL, 16) : 0;
}

static struct findings *map_area(int fd)
{
	const size_t size = sizeof(struct findings);
	void *ret;

	if (fd < 0 || ftruncate(fd, (off_t)size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	ret = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return ret == MAP_FAILED ? NULL : ret;
}

/* The mapping stays when the program closes descriptors that it does not know. */
void check_report_begin(void)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	struct ctl_client *client;
	struct findings *made;
	int fd;
	NO_CANCEL;

	check_in_child(check_report_begin);
	if (atomic_load(&area_pid) == getpid())
		return;
	pthread_mutex_lock(&making);
	if (atomic_load(&area_pid) != getpid()) {
		fd = memfd_create("rxe_dm findings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		made = map_area(fd);
		if (made) {
			made->magic = FINDINGS_MAGIC;
			made->run = run_number();
			made->pid = getpid();
			ctl_process_comm(made->comm);
			/* A failure has been explained; the findings are then printed only. */
			if (vb_device_connect(&client) == 0)
				ctl_keep_findings(client, fd);
		}
		if (fd >= 0)
			close(fd);
		atomic_store(&area, made);
		atomic_store(&area_forks, vb_forks());
		atomic_store(&area_pid, getpid());
	}
	pthread_mutex_unlock(&making);
}

static uint64_t mix(uint64_t key, uint64_t value)
{
	key = (key ^ value) * 0x9e3779b97f4a7c15ull;
	return key ^ key >> 29;
}

static uint64_t key_of(enum check check, const struct check_where *where, size_t n)
{
	uint64_t key = mix(1, (uint64_t)check);

	for (size_t i = 0; i < n && i < 2; i++) {
		for (uint32_t k = 0; k < where[i].stack->depth; k++)
			key = mix(key, where[i].stack->pc[k]);
	}
	return key;
}

static void fill_stack(struct findings *to, struct finding_stack *ret,
		       const struct check_where *where)
{
	snprintf(ret->what, sizeof(ret->what), "%s", where->what);
	ret->thread = where->stack->thread;
	ret->depth = where->stack->depth;
	/* Return addresses: one less is inside the call. */
	for (uint32_t i = 0; i < ret->depth; i++)
		ret->frame[i] = module_frame(to, where->stack->modules, where->stack->pc[i] - 1);
}

/* True: a command got the notice. */
static bool notify(uint64_t run)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int sock = run ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	int len;
	bool done;

	if (sock < 0)
		return false;
	len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "rxe_dm/check/%016llx",
		       (unsigned long long)run);
	done = sendto(sock, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&addr,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 1;
	close(sock);
	return done;
}

static void print_stack(FILE *to, const struct findings *from, const struct finding_stack *stack)
{
	fprintf(to, "  %s:\n", stack->what);
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct finding_frame *frame = &stack->frame[i];

		fprintf(to, "    #%u %s+0x%llx\n", i,
			frame->module == FINDING_NO_MODULE ? "" : from->module[frame->module].path,
			(unsigned long long)frame->offset);
	}
}

/* One write, so that the output of several threads and processes does not mix. */
static void print(const struct findings *from, const struct finding *finding)
{
	const struct check_row *row = check_find(finding->id);
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (!to || !row)
		return;
	fprintf(to, "rxe_dm: %s%s %s: %s\n", row->is_note ? "note " : "", row->id, row->name,
		finding->text);
	for (uint32_t i = 0; i < finding->num_stacks; i++)
		print_stack(to, from, &finding->stack[i]);
	fprintf(to, "  %s\n  %s\n", row->spec, row->remedy);
	if (fclose(to) == 0 && write(STDERR_FILENO, text, len) < 0)
		len = 0; /* no output is left to report to */
	free(text);
}

static uint64_t epoch_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Counts a finding that is in the area. False: it is not. */
static bool count(struct findings *in, uint64_t key)
{
	for (uint32_t i = 0; i < atomic_load(&in->count); i++) {
		if (keys[i] == key) {
			atomic_fetch_add(&in->at[i].times, 1);
			return true;
		}
	}
	return false;
}

static void add(struct findings *to, enum check check, const struct check_where *where, size_t n,
		const char *text)
{
	const uint32_t place = atomic_load(&to->count);
	struct finding *finding = &to->at[place];

	snprintf(finding->id, sizeof(finding->id), "%s", check_table[check].id);
	snprintf(finding->text, sizeof(finding->text), "%s", text);
	finding->epoch_ns = epoch_ns();
	finding->num_stacks = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		fill_stack(to, &finding->stack[i], &where[i]);
	atomic_store(&finding->times, 1);
	atomic_store(&to->count, place + 1);
	if (!notify(to->run))
		print(to, finding);
}

void check_report(enum check check, const struct check_where *where, size_t n, const char *format,
		  ...)
{
	struct findings *to = atomic_load(&area);
	struct check_where places[FINDING_STACKS];
	struct check_stack here;
	char text[FINDING_TEXT];
	uint64_t key;
	va_list args;

	if (!check_is_on(check) || !to || atomic_load(&area_forks) != vb_forks())
		return;
	n = n < FINDING_STACKS ? n : FINDING_STACKS;
	for (size_t i = 0; i < n; i++) {
		places[i] = where[i];
		if (!where[i].stack) {
			check_stack_take(&here);
			places[i].stack = &here;
		}
	}
	key = key_of(check, places, n);
	if (count(to, key))
		return;
	if (atomic_load(&to->count) == FINDINGS_MAX) {
		atomic_fetch_add(&to->dropped, 1);
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	keys[atomic_load(&to->count)] = key;
	add(to, check, places, n, text);
}
