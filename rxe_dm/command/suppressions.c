// SPDX-License-Identifier: MIT
/* Reads and applies suppressions. */
#include "rxe_dm/command/suppressions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/control/log.h"
#include "lib/findings/record.h"
#include "lib/findings/table.h"
#include "rxe_dm/command/symbols.h"

enum suppression_kind {
	SUPPRESS_ID,
	SUPPRESS_FUNCTION,
	SUPPRESS_OBJECT,
};

struct suppressions {
	struct suppressions *next;
	enum suppression_kind kind;
	char pattern[256]; /* of fnmatch(3) */
};

static const char *const kinds[] = { "id:", "func:", "obj:" };

static struct suppressions *make(enum suppression_kind kind, const char *text)
{
	struct suppressions *ret = calloc(1, sizeof(*ret));
	size_t len = strlen(text);
	const bool from_start = *text == '^', to_end = len > 0 && text[len - 1] == '$';

	if (!ret)
		return NULL;
	text += from_start;
	len -= (size_t)from_start + to_end;
	ret->kind = kind;
	snprintf(ret->pattern, sizeof(ret->pattern), "%s%.*s%s", from_start ? "" : "*", (int)len,
		 text, to_end ? "" : "*");
	return ret;
}

/* False: no suppression. */
static bool add_line(struct suppressions **list, char *line)
{
	line += strspn(line, " \t");
	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct suppressions *made;

		if (strncmp(line, kinds[i], strlen(kinds[i])) != 0)
			continue;
		made = make((enum suppression_kind)i, line + strlen(kinds[i]));
		if (made)
			LL_APPEND(*list, made);
		return made != NULL;
	}
	return false;
}

bool suppressions_read(const char *file, struct suppressions **ret)
{
	FILE *from = fopen(file, "re");
	char line[300];
	bool good = true;

	if (!from) {
		ctl_log(CTL_LOG_ERROR, "cannot read suppressions from '%s': %s", file,
			strerror(errno));
		return false;
	}
	for (int number = 1; good && fgets(line, sizeof(line), from); number++) {
		good = add_line(ret, line);
		if (!good)
			ctl_log(CTL_LOG_ERROR,
				"%s:%d: it expects id:PATTERN, func:PATTERN or obj:PATTERN", file,
				number);
	}
	fclose(from);
	return good;
}

void suppressions_free(struct suppressions *suppressions)
{
	struct suppressions *at, *next;

	LL_FOREACH_SAFE (suppressions, at, next)
		free(at);
}

static bool matches(const struct suppressions *rule, const char *text)
{
	return fnmatch(rule->pattern, text, 0) == 0;
}

static bool matches_id(const struct suppressions *rule, const struct finding *finding)
{
	const struct check_row *row = check_find(finding->id);

	return row && (matches(rule, row->id) || matches(rule, row->name));
}

static bool matches_frame(const struct suppressions *rule, const struct finding *finding,
			  struct symbols *symbols)
{
	for (uint32_t i = 0; i < finding->num_stacks && i < FINDING_STACKS; i++) {
		const struct finding_stack *stack = &finding->stack[i];

		for (uint32_t k = 0; k < stack->depth && k < FINDING_DEPTH; k++) {
			const struct symbol symbol = symbols_find(symbols, &stack->frame[k]);

			if (matches(rule, rule->kind == SUPPRESS_FUNCTION ? symbol.function
									  : symbol.module))
				return true;
		}
	}
	return false;
}

bool suppressions_match(const struct suppressions *suppressions, const struct finding *finding,
			struct symbols *symbols)
{
	const struct suppressions *rule;

	LL_FOREACH (suppressions, rule) {
		if (rule->kind == SUPPRESS_ID ? matches_id(rule, finding)
					      : matches_frame(rule, finding, symbols))
			return true;
	}
	return false;
}
