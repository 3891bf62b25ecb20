// SPDX-License-Identifier: MIT
/* Findings as JSON, and as SARIF 2.1.0, which code hosts show at the line. */
#include <jansson.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/findings/table.h"
#include "rxe_dm/command/findings.h"
#include "rxe_dm/command/symbols.h"
#include "rxe_dm/command/view.h"

static void set_text(json_t *to, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(to, key, json_string(text));
}

static json_t *json_frame(struct symbols *symbols, const struct finding_frame *frame)
{
	const struct symbol symbol = symbols_find(symbols, frame);
	json_t *ret = json_object();
	char offset[24];

	snprintf(offset, sizeof(offset), "0x%llx", (unsigned long long)frame->offset);
	set_text(ret, "function", symbol.function);
	set_text(ret, "file", symbol.file);
	if (symbol.line)
		json_object_set_new(ret, "line", json_integer(symbol.line));
	set_text(ret, "module", symbol.module);
	set_text(ret, "build_id", symbol.build_id);
	set_text(ret, "offset", offset);
	return ret;
}

static json_t *json_stack(struct symbols *symbols, const struct finding_stack *stack)
{
	json_t *ret = json_object(), *frames = json_array();
	char what[sizeof(stack->what) + 1];

	set_text(ret, "what", view_plain(what, sizeof(what), stack->what, sizeof(stack->what)));
	json_object_set_new(ret, "thread", json_integer(stack->thread));
	for (uint32_t i = 0; i < stack->depth && i < FINDING_DEPTH; i++)
		json_array_append_new(frames, json_frame(symbols, &stack->frame[i]));
	json_object_set_new(ret, "frames", frames);
	return ret;
}

static const struct check_row *row_of(const struct finding *finding)
{
	char id[FINDING_ID_MAX + 1];

	return check_find(view_plain(id, sizeof(id), finding->id, sizeof(finding->id)));
}

static void add_json(struct findings_area *area, const struct finding *finding, void *arg)
{
	const struct check_row *row = row_of(finding);
	const uint64_t epoch_ms = finding->epoch_ns / 1000000;
	char text[FINDING_TEXT + 1], comm[17];
	json_t *ret = json_object(), *stacks = json_array();

	set_text(ret, "id", row->id);
	set_text(ret, "name", row->name);
	set_text(ret, "level", check_level(row));
	set_text(ret, "text", view_plain(text, sizeof(text), finding->text, sizeof(finding->text)));
	json_object_set_new(ret, "times", json_integer(atomic_load(&finding->times)));
	json_object_set_new(ret, "pid", json_integer(area->map->pid));
	set_text(ret, "comm",
		 view_plain(comm, sizeof(comm), area->map->comm, sizeof(area->map->comm)));
	json_object_set_new(ret, "time", json_real((double)epoch_ms / 1000.0));
	set_text(ret, "specification", row->spec);
	set_text(ret, "remedy", row->remedy);
	for (uint32_t i = 0; i < finding->num_stacks && i < FINDING_STACKS; i++)
		json_array_append_new(stacks, json_stack(area->symbols, &finding->stack[i]));
	json_object_set_new(ret, "stacks", stacks);
	json_array_append_new(arg, ret);
}

static bool dump(json_t *all, FILE *to)
{
	const bool done = all && json_dumpf(all, to, JSON_INDENT(2)) == 0 &&
			  fputc('\n', to) != EOF && fflush(to) == 0;

	json_decref(all);
	return done;
}

bool findings_json(const struct findings_list *list, FILE *to)
{
	json_t *found = json_array();

	findings_each(list, add_json, found);
	return dump(json_pack("{s:o}", "findings", found), to);
}

/* A frame that has a source line; NULL: it has none. */
static json_t *sarif_place(struct symbols *symbols, const struct finding_frame *frame,
			   const char *what)
{
	const struct symbol symbol = symbols_find(symbols, frame);
	json_t *ret;

	/* Inline functions of verbs.h are at no line of the program. */
	if (!symbol.line || strncmp(symbol.file, "/usr/include/", strlen("/usr/include/")) == 0)
		return NULL;
	ret = json_pack("{s:{s:{s:s}, s:{s:i}}}", "physicalLocation", "artifactLocation", "uri",
			symbol.file, "region", "startLine", symbol.line);
	if (what)
		json_object_set_new(ret, "message", json_pack("{s:s}", "text", what));
	if (*symbol.function)
		json_object_set_new(ret, "logicalLocations",
				    json_pack("[{s:s}]", "fullyQualifiedName", symbol.function));
	return ret;
}

/* The first line of a stack that is known: a program's own, because libraries have none. */
static json_t *first_place(struct symbols *symbols, const struct finding_stack *stack,
			   const char *what)
{
	json_t *ret = NULL;

	for (uint32_t i = 0; !ret && i < stack->depth && i < FINDING_DEPTH; i++)
		ret = sarif_place(symbols, &stack->frame[i], what);
	return ret;
}

static json_t *sarif_stack(struct symbols *symbols, const struct finding_stack *stack,
			   const char *what)
{
	json_t *frames = json_array();

	for (uint32_t i = 0; i < stack->depth && i < FINDING_DEPTH; i++) {
		json_t *place = sarif_place(symbols, &stack->frame[i], NULL);

		if (place)
			json_array_append_new(frames, json_pack("{s:o}", "location", place));
	}
	return json_pack("{s:{s:s}, s:o}", "message", "text", what, "frames", frames);
}

static void add_sarif(struct findings_area *area, const struct finding *finding, void *arg)
{
	const struct check_row *row = row_of(finding);
	json_t *places = json_array(), *related = json_array(), *stacks = json_array();
	char text[FINDING_TEXT + 1];

	for (uint32_t i = 0; i < finding->num_stacks && i < FINDING_STACKS; i++) {
		const struct finding_stack *stack = &finding->stack[i];
		char what[sizeof(stack->what) + 1];
		json_t *place;

		view_plain(what, sizeof(what), stack->what, sizeof(stack->what));
		json_array_append_new(stacks, sarif_stack(area->symbols, stack, what));
		place = first_place(area->symbols, stack, what);
		if (place)
			json_array_append_new(i ? related : places, place);
	}
	view_plain(text, sizeof(text), finding->text, sizeof(finding->text));
	json_array_append_new(arg, json_pack("{s:s, s:s, s:{s:s}, s:o, s:o, s:o, s:i}", "ruleId",
					     row->id, "level", check_level(row), "message", "text",
					     text, "locations", places, "relatedLocations", related,
					     "stacks", stacks, "occurrenceCount",
					     (int)atomic_load(&finding->times)));
}

static json_t *sarif_rules(void)
{
	json_t *rules = json_array();

	for (size_t i = 0; i < CHECK_END; i++) {
		const struct check_row *row = &check_table[i];

		json_array_append_new(rules,
				      json_pack("{s:s, s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id",
						row->id, "name", row->name, "shortDescription",
						"text", row->sentence, "fullDescription", "text",
						row->spec, "help", "text", row->remedy));
	}
	return rules;
}

bool findings_sarif(const struct findings_list *list, FILE *to)
{
	json_t *results = json_array();

	findings_each(list, add_sarif, results);
	return dump(json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "$schema",
			      "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
			      "runs", "tool", "driver", "name", "rxe_dm", "version", RXE_DM_VERSION,
			      "rules", sarif_rules(), "results", results),
		    to);
}
