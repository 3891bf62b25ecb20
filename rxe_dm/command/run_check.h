/* SPDX-License-Identifier: MIT */
/* rxe_dm run --check: runs the program as a child, prints what it is found to do wrong, and exits
 * with a status of its own if there was something. */
#ifndef RXE_DM_COMMAND_RUN_CHECK_H
#define RXE_DM_COMMAND_RUN_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_CHECK_FOLDER "check" /* of the second libibverbs.so.1, in the folder of the first */
#define RUN_CHECK_EXIT	 66

struct run_check {
	bool on;
	const char *list; /* --check=LIST; NULL: all */
	const char *output, *suppressions;
	const char *worst; /* how unkind the device is, as in RXE_DM_WORST */
	uint64_t exit_status;
};

/* clang-format off */
#define RUN_CHECK_OPTIONS(check)                                                                   \
	{ .name = "check",                                                                         \
	  .argument = "[=LIST]",                                                                   \
	  .help = "report what it does wrong with verbs: ids or groups, -id without",              \
	  .given = &(check).on,                                                                    \
	  .text = &(check).list },                                                                 \
	{ .name = "check-output",                                                                  \
	  .argument = "FILE",                                                                      \
	  .help = "write findings to FILE, as JSON or, for FILE.sarif, as SARIF",                  \
	  .text = &(check).output,                                                                 \
	  .needs_text = true },                                                                    \
	{ .name = "check-exit",                                                                    \
	  .argument = "STATUS",                                                                    \
	  .help = "exit status if there are findings, default 66; 0: the program's",               \
	  .number = &(check).exit_status,                                                          \
	  .max = 255 },                                                                            \
	{ .name = "check-suppressions",                                                            \
	  .argument = "FILE",                                                                      \
	  .help = "do not report what FILE lists: id:, func: or obj:PATTERN",                      \
	  .text = &(check).suppressions,                                                           \
	  .needs_text = true }
/* clang-format on */

/* Checks the options, takes RXE_DM_CHECK into account, and sets the variables of the program.
 * False: explained. */
bool run_check_prepare(struct run_check *check);
/* Runs the program under the server of the instance. Returns the exit status for this process; does
 * not return if the program ended by a signal without findings. */
int run_check_program(const struct run_check *check, const char *instance, char **program);

#endif
