// SPDX-License-Identifier: MIT
/* A conservative mark: each aligned word that equals the address of an object reaches the object; a
 * word that looks like a block of glibc's heap reaches what is in the block. */
#include "lib/check/reach.h"

#include <dirent.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "lib/check/hash.h"
#include "lib/check/object.h"

#define BYTES_MAX  (64u << 20) /* of the heap that are read */
#define RANGES_MAX 1024u
/* The engine's background thread, and the program's own. */
#define THREADS_MAX 2u

#pragma GCC visibility push(hidden)
extern const char __ehdr_start[];
#pragma GCC visibility pop

static uintptr_t cm_start; /* the second librdmacm.so.1, if it is loaded */

void reach_without(const void *start)
{
	cm_start = (uintptr_t)start;
}

struct range {
	uintptr_t start, end;
};

struct block {
	UT_hash_handle hh;
	struct block *next; /* to be read */
	uintptr_t start;
	size_t len;
};

struct mark {
	struct range range[RANGES_MAX]; /* writable private memory, in the order of addresses */
	size_t num_ranges;
	struct block *seen, *todo;
	size_t bytes;
	bool of_cm; /* for objects of librdmacm, which its own tables do not reach */
};

static void read_maps(struct mark *mark)
{
	FILE *from = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512], rights[8];

	while (from && mark->num_ranges < RANGES_MAX && fgets(line, sizeof(line), from)) {
		if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 &&
		    strncmp(rights, "rw-p", 4) == 0)
			mark->range[mark->num_ranges++] = (struct range){ start, end };
	}
	if (from)
		fclose(from);
}

static const struct range *range_of(const struct mark *mark, uintptr_t at)
{
	size_t low = 0, high = mark->num_ranges;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (at >= mark->range[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mark->num_ranges && at >= mark->range[low].start ? &mark->range[low] : NULL;
}

/* glibc keeps the size of a block in the word in front of it; the low bits are flags. */
static size_t block_len(const struct mark *mark, uintptr_t at)
{
	const struct range *range = at % 16 ? NULL : range_of(mark, at);
	size_t size;

	if (!range || at - range->start < 16)
		return 0;
	memcpy(&size, (const void *)(at - 8), sizeof(size));
	size &= ~(size_t)7;
	if (size < 32 || size % 16 || size - 16 > range->end - at)
		return 0;
	/* A block ends with the first word of the next one, which a mapping's last block lacks. */
	return size - 8 < range->end - at ? size - 8 : range->end - at;
}

static void add_block(struct mark *mark, uintptr_t at)
{
	const size_t len = block_len(mark, at);
	struct block *block;

	if (!len || mark->bytes + len > BYTES_MAX)
		return;
	HASH_FIND(hh, mark->seen, &at, sizeof(at), block);
	if (block)
		return;
	block = calloc(1, sizeof(*block));
	if (!block)
		return;
	block->start = at;
	block->len = len;
	block->next = mark->todo;
	mark->todo = block;
	mark->bytes += len;
	HASH_ADD(hh, mark->seen, start, sizeof(block->start), block);
}

static void read_words(struct mark *mark, uintptr_t start, uintptr_t end)
{
	for (uintptr_t at = (start + 7) & ~(uintptr_t)7; at + 8 <= end; at += 8) {
		struct check_object *object;
		uintptr_t word;

		memcpy(&word, (const void *)at, sizeof(word));
		if (word < 4096)
			continue;
		object = object_find((const void *)word);
		if (object && (object->kind >= VB_KINDS) == mark->of_cm)
			object->reached = true;
		add_block(mark, word);
	}
}

/* The linker makes the first pages of a segment read-only (RELRO). */
static void read_written(struct mark *mark, uintptr_t start, uintptr_t end)
{
	for (size_t i = 0; i < mark->num_ranges; i++) {
		const uintptr_t from = start > mark->range[i].start ? start : mark->range[i].start;
		const uintptr_t to = end < mark->range[i].end ? end : mark->range[i].end;

		if (from < to)
			read_words(mark, from, to);
	}
}

/* Global variables, but for this library's, which know every object. */
static int read_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct mark *mark = arg;
	const uintptr_t here = (uintptr_t)__ehdr_start;

	(void)size;
	if (info->dlpi_addr == here || (mark->of_cm && info->dlpi_addr == cm_start))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W))
			read_written(mark, start, start + segment->p_memsz);
	}
	return 0;
}

struct frames {
	struct range program; /* of the executable */
	uintptr_t cfa, last_cfa;
	unsigned int of_program;
};

static int find_executable(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct frames *frames = arg;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
			frames->program = (struct range){ info->dlpi_addr + segment->p_vaddr,
							  info->dlpi_addr + segment->p_vaddr +
								  segment->p_memsz };
	}
	return 1; /* the first is the executable */
}

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *arg)
{
	struct frames *frames = arg;
	const uintptr_t pc = _Unwind_GetIP(context);

	if (pc >= frames->program.start && pc < frames->program.end) {
		if (!frames->of_program++)
			frames->cfa = frames->last_cfa;
	}
	frames->last_cfa = _Unwind_GetCFA(context);
	return _URC_NO_REASON;
}

/* The frames of functions that called exit(3). After main() has returned there are none: the
 * outermost frame is the executable's start. */
static void read_stack(struct mark *mark)
{
	struct frames frames = { .of_program = 0 };
	const struct range *stack;

	dl_iterate_phdr(find_executable, &frames);
	_Unwind_Backtrace(visit_frame, &frames);
	stack = frames.of_program > 1 ? range_of(mark, frames.cfa) : NULL;
	if (stack)
		read_words(mark, frames.cfa, stack->end);
}

static bool is_alone(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned int n = 0;

	while (tasks && (entry = readdir(tasks)))
		n += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return n <= THREADS_MAX;
}

static void mark_kinds(bool of_cm)
{
	static struct mark mark; /* too large for a stack */
	struct block *block, *next;

	mark = (struct mark){ .of_cm = of_cm };
	read_maps(&mark);
	dl_iterate_phdr(read_module, &mark);
	read_stack(&mark);
	while (mark.todo) {
		block = mark.todo;
		mark.todo = block->next;
		read_words(&mark, block->start, block->start + block->len);
	}
	HASH_ITER (hh, mark.seen, block, next) {
		HASH_DEL(mark.seen, block);
		free(block);
	}
}

bool reach_mark(void)
{
	if (!is_alone())
		return false;
	mark_kinds(false);
	if (cm_start)
		mark_kinds(true);
	return true;
}
