// SPDX-License-Identifier: MIT
/* Looks up addresses in the files of a process, found by path or by build id. */
#include "rxe_dm/command/symbols.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RXE_DM_LIBDW
#include <elfutils/libdwfl.h>
#endif

#include "lib/findings/record.h"
#include "rxe_dm/command/view.h"

struct loaded {
	bool tried;
#ifdef RXE_DM_LIBDW
	Dwfl *dwfl; /* NULL: the file was not found */
	GElf_Addr base;
#endif
};

struct symbols {
	const struct findings *area;
	struct loaded loaded[FINDINGS_MODULES];
};

struct symbols *symbols_open(const struct findings *area)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols)
		symbols->area = area;
	return symbols;
}

#ifdef RXE_DM_LIBDW
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* A file of another build has other addresses. */
static bool is_same(Dwfl_Module *module, const struct finding_module *wanted)
{
	const unsigned char *bits;
	GElf_Addr at;
	const int len = dwfl_module_build_id(module, &bits, &at);

	if (!wanted->build_id_len || len <= 0)
		return true;
	return (uint32_t)len == wanted->build_id_len && wanted->build_id_len <= 20 &&
	       memcmp(bits, wanted->build_id, (size_t)len) == 0;
}

static bool load_file(struct loaded *ret, const struct finding_module *wanted, const char *path)
{
	Dwfl_Module *module;

	ret->dwfl = dwfl_begin(&callbacks);
	if (!ret->dwfl)
		return false;
	dwfl_report_begin(ret->dwfl);
	module = dwfl_report_elf(ret->dwfl, "program", path, -1, 0, true);
	dwfl_report_end(ret->dwfl, NULL, NULL);
	if (module && is_same(module, wanted))
		return true;
	dwfl_end(ret->dwfl);
	ret->dwfl = NULL;
	return false;
}

/* The file as the process sees it, which may be in a container; then by the path here; then the
 * separate debug file of the build id. */
static void load(struct loaded *ret, const struct findings *area,
		 const struct finding_module *wanted)
{
	char path[sizeof(wanted->path) + 64], plain[sizeof(wanted->path) + 1];
	const uint8_t *id = wanted->build_id;
	int len;

	ret->tried = true;
	view_plain(plain, sizeof(plain), wanted->path, sizeof(wanted->path));
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)area->pid, plain);
	if (load_file(ret, wanted, path) || load_file(ret, wanted, plain) ||
	    wanted->build_id_len < 2 || wanted->build_id_len > sizeof(wanted->build_id))
		return;
	len = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (uint32_t i = 1; i < wanted->build_id_len; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x", id[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");
	load_file(ret, wanted, path);
}

static void look_up(const struct loaded *loaded, uint64_t offset, struct symbol *ret)
{
	Dwfl_Module *module = loaded->dwfl ? dwfl_addrmodule(loaded->dwfl, offset) : NULL;
	const char *name = module ? dwfl_module_addrname(module, offset) : NULL;
	Dwfl_Line *line = module ? dwfl_module_getsrc(module, offset) : NULL;
	const char *file = line ? dwfl_lineinfo(line, NULL, &ret->line, NULL, NULL, NULL) : NULL;

	if (name)
		snprintf(ret->function, sizeof(ret->function), "%s", name);
	if (file)
		snprintf(ret->file, sizeof(ret->file), "%s", file);
	else
		ret->line = 0;
}

static void unload(struct loaded *loaded)
{
	if (loaded->dwfl)
		dwfl_end(loaded->dwfl);
}
#else
static void load(struct loaded *ret, const struct findings *area,
		 const struct finding_module *wanted)
{
	(void)area;
	(void)wanted;
	ret->tried = true;
}

static void look_up(const struct loaded *loaded, uint64_t offset, struct symbol *ret)
{
	(void)loaded;
	(void)offset;
	(void)ret;
}

static void unload(struct loaded *loaded)
{
	(void)loaded;
}
#endif

void symbols_close(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < FINDINGS_MODULES; i++)
		unload(&symbols->loaded[i]);
	free(symbols);
}

struct symbol symbols_find(struct symbols *symbols, const struct finding_frame *frame)
{
	struct symbol ret = { .line = 0 };
	const struct finding_module *module;
	int len = 0;

	if (!symbols || frame->module >= FINDINGS_MODULES)
		return ret;
	module = &symbols->area->module[frame->module];
	view_plain(ret.module, sizeof(ret.module), module->path, sizeof(module->path));
	for (uint32_t i = 0; i < module->build_id_len && i < sizeof(module->build_id); i++)
		len += snprintf(ret.build_id + len, sizeof(ret.build_id) - (size_t)len, "%02x",
				module->build_id[i]);
	if (!symbols->loaded[frame->module].tried)
		load(&symbols->loaded[frame->module], symbols->area, module);
	look_up(&symbols->loaded[frame->module], frame->offset, &ret);
	return ret;
}
