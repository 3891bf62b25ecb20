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

#include "lib/findings/record.h"

struct search {
	uintptr_t pc;
	uintptr_t base;
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

static bool covers(const struct dl_phdr_info *info, uintptr_t pc)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    pc - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
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
	if (!covers(info, search->pc))
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

struct finding_frame module_frame(struct findings *area, uintptr_t pc)
{
	struct search search = { .pc = pc };
	struct finding_frame ret = { .offset = pc, .module = FINDING_NO_MODULE };

	dl_iterate_phdr(visit, &search);
	if (!search.found)
		return ret;
	ret.module = place_of(area, &search.module);
	if (ret.module != FINDING_NO_MODULE)
		ret.offset = pc - search.base;
	return ret;
}
