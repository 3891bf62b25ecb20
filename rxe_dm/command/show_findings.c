// SPDX-License-Identifier: MIT
/* rxe_dm show --findings and --checks. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "lib/findings/table.h"
#include "rxe_dm/command/findings.h"

static void print_checks(void)
{
	for (size_t i = 0; i < CHECK_END; i++)
		printf("%-14s %-24s %s\n", check_table[i].id, check_table[i].name,
		       check_table[i].sentence);
}

static void print_checks_json(void)
{
	json_t *all = json_array();

	for (size_t i = 0; i < CHECK_END; i++) {
		const struct check_row *row = &check_table[i];

		json_array_append_new(all,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", row->id,
						"name", row->name, "level", check_level(row),
						"sentence", row->sentence, "specification",
						row->spec, "remedy", row->remedy));
	}
	if (json_dumpf(all, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	json_decref(all);
}

int show_checks(bool json)
{
	if (json)
		print_checks_json();
	else
		print_checks();
	return fflush(stdout) ? 1 : 0;
}

int show_findings(struct ctl_client *client, bool json)
{
	struct findings_list list = { 0 };
	int rc = findings_read(&list, client);

	if (rc)
		fprintf(stderr, "rxe_dm: the device server does not answer: %s\n", strerror(-rc));
	else if (json)
		rc = !findings_json(&list, stdout);
	else if (findings_count(&list, false) + findings_count(&list, true) == 0)
		printf("no program that ran with --check was found to do anything wrong\n");
	else
		findings_print(&list, stdout);
	findings_drop(&list);
	return rc ? 1 : 0;
}
