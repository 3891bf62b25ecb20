/* SPDX-License-Identifier: MIT */
/* Findings of programs that ran with --check, as the server keeps them (lib/findings/record.h):
 * read, with symbols, as text, JSON and SARIF. */
#ifndef RXE_DM_COMMAND_FINDINGS_H
#define RXE_DM_COMMAND_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/findings/record.h"

struct ctl_client;
struct suppressions;
struct symbols;

/* The findings of one process, read while it may write. */
struct findings_area {
	const struct findings *map;
	ino_t inode;
	uint32_t printed; /* of them */
	struct symbols *symbols;
};

struct findings_list {
	struct findings_area *area;
	size_t count;
	uint64_t run; /* RXE_DM_CHECK_RUN; 0: of all programs */
	const struct suppressions *suppressions;
};

/* Adds the areas that the server has and the list has not. 0 or a negative errno. */
int findings_read(struct findings_list *list, struct ctl_client *client);
void findings_drop(struct findings_list *list);
/* Findings that are not suppressed: errors, or notes. */
uint32_t findings_count(const struct findings_list *list, bool notes);
/* Calls visit for each that is not suppressed. */
void findings_each(const struct findings_list *list,
		   void (*visit)(struct findings_area *area, const struct finding *finding,
				 void *arg),
		   void *arg);
/* Prints those that were not printed yet. */
void findings_print(struct findings_list *list, FILE *to);

/* show_findings.c: rxe_dm show --findings, and the list of checks. The exit status. */
int show_findings(struct ctl_client *client, bool json);
int show_checks(bool json);

/* findings_json.c. False: no memory, or the file could not be written. */
bool findings_json(const struct findings_list *list, FILE *to);
bool findings_sarif(const struct findings_list *list, FILE *to);

#endif
