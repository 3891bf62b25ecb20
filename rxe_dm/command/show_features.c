// SPDX-License-Identifier: MIT
/* rxe_dm show --features: what each function of the libraries does (lib/abi/features.tsv). */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>

#include "rxe_dm/command/view.h"

enum state {
	WORKS,
	PARTLY,
	REFUSED,
};

/* A section has a title only. */
struct row {
	const char *title, *library, *function;
	enum state state;
	const char *note;
};

#define SECTION(title)				{ title, NULL, NULL, WORKS, "" },
#define FEATURE(library, function, state, note) { NULL, #library, #function, state, note },
static const struct row rows[] = {
#include "features.inc"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *state_str(enum state state)
{
	switch (state) {
	case WORKS: return "works";
	case PARTLY: return "partly";
	case REFUSED: return "refused";
	}
	return "?";
}

void show_features(FILE *out)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];

		if (row->title)
			fprintf(out, "%s%s\n", i ? "\n" : "", row->title);
		else if (!*row->note)
			fprintf(out, "  %-43s%s\n", row->function, state_str(row->state));
		else
			fprintf(out, "  %-43s%-8s %s\n", row->function, state_str(row->state),
				row->note);
	}
}

int show_features_json(FILE *out)
{
	json_t *all = json_array();
	int rc = all ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < ROWS; i++) {
		const struct row *row = &rows[i];

		if (row->title)
			continue;
		if (json_array_append_new(all,
					  json_pack("{s:s, s:s, s:s, s:s}", "library", row->library,
						    "function", row->function, "state",
						    state_str(row->state), "note", row->note)))
			rc = -ENOMEM;
	}
	if (!rc && json_dumpf(all, out, JSON_INDENT(2)))
		rc = -EPIPE;
	json_decref(all);
	if (!rc)
		fputc('\n', out);
	return rc;
}
