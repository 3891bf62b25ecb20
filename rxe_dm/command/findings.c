// SPDX-License-Identifier: MIT
/* Reads the areas of processes, and prints findings. A process may write anything there: each
 * number and text is checked or bounded before it is used. */
#include "rxe_dm/command/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/findings/table.h"
#include "rxe_dm/command/suppressions.h"
#include "rxe_dm/command/symbols.h"
#include "rxe_dm/command/view.h"

static bool has(const struct findings_list *list, ino_t inode)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->area[i].inode == inode)
			return true;
	}
	return false;
}

/* The server has checked the size, which cannot shrink. */
static int add(struct findings_list *list, int fd)
{
	struct findings_area *more;
	const struct findings *map;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (has(list, st.st_ino))
		return 0;
	map = mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	more = map->magic == FINDINGS_MAGIC && (!list->run || list->run == map->run)
		       ? realloc(list->area, (list->count + 1) * sizeof(*more))
		       : NULL;
	if (!more) {
		munmap((void *)(uintptr_t)map, sizeof(*map));
		return 0;
	}
	list->area = more;
	more[list->count++] = (struct findings_area){ .map = map,
						      .inode = st.st_ino,
						      .symbols = symbols_open(map) };
	return 0;
}

int findings_read(struct findings_list *list, struct ctl_client *client)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < count; i++) {
		struct ctl_call call = { .req = { .op = CTL_FINDINGS, .handle = i },
					 .in_fd = -1,
					 .more_fds = 1 };
		int rc = ctl_do(client, &call, 0);

		if (rc)
			return rc;
		count = call.reply.findings.count;
		if (!call.num_fds)
			break;
		rc = add(list, call.fds[0]);
		close(call.fds[0]);
		if (rc)
			return rc;
	}
	return 0;
}

void findings_drop(struct findings_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		symbols_close(list->area[i].symbols);
		munmap((void *)(uintptr_t)list->area[i].map, sizeof(struct findings));
	}
	free(list->area);
	list->area = NULL;
	list->count = 0;
}

static uint32_t num_of(const struct findings_area *area)
{
	const uint32_t count = atomic_load(&area->map->count);

	return count < FINDINGS_MAX ? count : FINDINGS_MAX;
}

/* A finding of a check that this command does not know is not shown. */
static bool is_shown(const struct findings_list *list, const struct findings_area *area,
		     const struct finding *finding)
{
	char id[FINDING_ID_MAX + 1];

	view_plain(id, sizeof(id), finding->id, sizeof(finding->id));
	return check_find(id) && !suppressions_match(list->suppressions, finding, area->symbols);
}

void findings_each(const struct findings_list *list,
		   void (*visit)(struct findings_area *area, const struct finding *finding,
				 void *arg),
		   void *arg)
{
	for (size_t i = 0; i < list->count; i++) {
		struct findings_area *area = &list->area[i];

		for (uint32_t k = 0; k < num_of(area); k++) {
			if (is_shown(list, area, &area->map->at[k]))
				visit(area, &area->map->at[k], arg);
		}
	}
}

struct counts {
	uint32_t errors, notes;
};

static void count_one(struct findings_area *area, const struct finding *finding, void *arg)
{
	const struct check_row *row;
	struct counts *counts = arg;
	char id[FINDING_ID_MAX + 1];

	(void)area;
	view_plain(id, sizeof(id), finding->id, sizeof(finding->id));
	row = check_find(id); /* NULL: the program has written to its area meanwhile */
	if (row && row->is_note)
		counts->notes++;
	else if (row)
		counts->errors++;
}

uint32_t findings_count(const struct findings_list *list, bool notes)
{
	struct counts counts = { 0 };

	findings_each(list, count_one, &counts);
	return notes ? counts.notes : counts.errors;
}

static void print_stack(const struct findings_area *area, const struct finding_stack *stack,
			FILE *to)
{
	char what[sizeof(stack->what) + 1];

	fprintf(to, "  %s:\n", view_plain(what, sizeof(what), stack->what, sizeof(stack->what)));
	for (uint32_t i = 0; i < stack->depth && i < FINDING_DEPTH; i++) {
		const struct symbol symbol = symbols_find(area->symbols, &stack->frame[i]);

		fprintf(to, "    #%u ", i);
		if (*symbol.function)
			fprintf(to, "%s ", symbol.function);
		if (symbol.line)
			fprintf(to, "%s:%d ", symbol.file, symbol.line);
		fprintf(to, "(%s+0x%" PRIx64 ")\n", symbol.module, stack->frame[i].offset);
		if (strcmp(symbol.function, "main") == 0)
			break;
	}
}

static void print(const struct findings_area *area, const struct finding *finding, FILE *to)
{
	char id[FINDING_ID_MAX + 1], text[FINDING_TEXT + 1], comm[17];
	const struct check_row *row;

	view_plain(id, sizeof(id), finding->id, sizeof(finding->id));
	row = check_find(id);
	if (!row)
		return;
	fprintf(to, "rxe_dm: %s%s %s [%s, process %d]: %s\n", row->is_note ? "note " : "", row->id,
		row->name, view_plain(comm, sizeof(comm), area->map->comm, sizeof(area->map->comm)),
		(int)area->map->pid,
		view_plain(text, sizeof(text), finding->text, sizeof(finding->text)));
	for (uint32_t i = 0; i < finding->num_stacks && i < FINDING_STACKS; i++)
		print_stack(area, &finding->stack[i], to);
	fprintf(to, "  specification: %s\n  remedy: %s\n", row->spec, row->remedy);
}

/* Prints a finding to an unbuffered stream by one write(2): the program may print to the same file
 * meanwhile. Without memory for the text, by several. */
static void print_whole(const struct findings_area *area, const struct finding *finding, FILE *to)
{
	char *text = NULL;
	size_t len = 0;
	FILE *whole = open_memstream(&text, &len);

	if (whole)
		print(area, finding, whole);
	if (whole && fclose(whole) == 0)
		fwrite(text, 1, len, to);
	else
		print(area, finding, to);
	free(text);
}

void findings_print(struct findings_list *list, FILE *to)
{
	for (size_t i = 0; i < list->count; i++) {
		struct findings_area *area = &list->area[i];

		for (; area->printed < num_of(area); area->printed++) {
			const struct finding *finding = &area->map->at[area->printed];

			if (is_shown(list, area, finding))
				print_whole(area, finding, to);
		}
	}
	fflush(to);
}
