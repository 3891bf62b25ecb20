// SPDX-License-Identifier: MIT
/* Finds the module of an address, and its build id. */
#include "lib/check/module.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/checked.h"
#include "lib/findings/record.h"

struct search {
	uintptr_t pc;
	uintptr_t base;
	uintptr_t start, end; /* the segment that has pc */
	bool found;
	struct finding_module module;
};

static void read_notes(struct finding_module *ret, const uint8_t *at, size_t len)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
		const size_t name = (note->n_namesz + 3u) & ~3u, desc = (note->n_descsz + 3u) & ~3u;
		const size_t whole = sizeof(*note) + name + desc;

		if (whole > len)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(note + 1, "GNU", 4) == 0 && note->n_descsz <= sizeof(ret->build_id)) {
			ret->build_id_len = note->n_descsz;
			memcpy(ret->build_id, (const uint8_t *)(note + 1) + name, note->n_descsz);
			return;
		}
		at += whole;
		len -= whole;
	}
}

static bool covers(const struct dl_phdr_info *info, struct search *search)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || search->pc - start >= segment->p_memsz)
			continue;
		search->start = start;
		search->end = start + segment->p_memsz;
		return true;
	}
	return false;
}

static void set_path(struct finding_module *ret, const char *name)
{
	ssize_t len;

	if (*name) {
		snprintf(ret->path, sizeof(ret->path), "%s", name);
		return;
	}
	len = readlink("/proc/self/exe", ret->path, sizeof(ret->path) - 1);
	ret->path[len > 0 ? len : 0] = '\0';
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;

	(void)size;
	if (!covers(info, search))
		return 0;
	search->found = true;
	search->base = info->dlpi_addr;
	set_path(&search->module, info->dlpi_name);
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE && !search->module.build_id_len)
			read_notes(&search->module,
				   (const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
				   segment->p_memsz);
	}
	return 1;
}

static uint32_t place_of(struct findings *area, const struct finding_module *module)
{
	const uint32_t count = atomic_load(&area->num_modules);

	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(area->module[i].path, module->path) == 0)
			return i;
	}
	if (count == FINDINGS_MODULES)
		return FINDING_NO_MODULE;
	area->module[count] = *module;
	atomic_store(&area->num_modules, count + 1);
	return count;
}

static bool find_own(struct search *search)
{
	dl_iterate_phdr(visit, search);
	return search->found;
}

/* The process may write while this one reads. */
static bool find_published(const struct ctl_modules *modules, struct search *search)
{
	const uint32_t count = atomic_load(&modules->count);

	for (uint32_t i = 0; i < count && i < CTL_CHECK_MODULES && !search->found; i++) {
		const struct ctl_module *module = &modules->at[i];

		if (search->pc < module->start || search->pc >= module->end)
			continue;
		search->found = true;
		search->base = module->base;
		memcpy(search->module.build_id, module->build_id, sizeof(module->build_id));
		search->module.build_id_len =
			module->build_id_len <= sizeof(module->build_id) ? module->build_id_len : 0;
		snprintf(search->module.path, sizeof(search->module.path), "%.*s",
			 (int)sizeof(module->path) - 1, module->path);
	}
	return search->found;
}

struct finding_frame module_frame(struct findings *area, const struct ctl_modules *modules,
				  uintptr_t pc)
{
	struct search search = { .pc = pc };
	struct finding_frame ret = { .offset = pc, .module = FINDING_NO_MODULE };

	if (!(modules ? find_published(modules, &search) : find_own(&search)))
		return ret;
	ret.module = place_of(area, &search.module);
	if (ret.module != FINDING_NO_MODULE)
		ret.offset = pc - search.base;
	return ret;
}

void module_publish(struct ctl_modules *to, uintptr_t pc)
{
	const uint32_t count = atomic_load(&to->count);
	struct search search = { .pc = pc };
	struct ctl_module *module;

	for (uint32_t i = 0; i < count && i < CTL_CHECK_MODULES; i++) {
		if (pc >= to->at[i].start && pc < to->at[i].end)
			return;
	}
	if (count >= CTL_CHECK_MODULES || !find_own(&search))
		return;
	module = &to->at[count];
	module->start = search.start;
	module->end = search.end;
	module->base = search.base;
	module->build_id_len = search.module.build_id_len;
	memcpy(module->build_id, search.module.build_id, sizeof(module->build_id));
	memcpy(module->path, search.module.path, sizeof(module->path));
	atomic_store(&to->count, count + 1);
}
