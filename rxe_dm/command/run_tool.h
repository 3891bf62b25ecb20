/* SPDX-License-Identifier: MIT */
/* Options of `rxe_dm run` that a Python program carries out: it runs this command without them. */
#ifndef RXE_DM_COMMAND_RUN_TOOL_H
#define RXE_DM_COMMAND_RUN_TOOL_H

#include <stdint.h>

struct run_tool {
	const char *record, *world; /* NULL: not given */
	uint64_t record_mib;	    /* checked only */
};

/* clang-format off */
#define RUN_TOOL_OPTIONS(tool)                                                                     \
	{ .name = "record",                                                                        \
	  .argument = "PATH",                                                                      \
	  .help = "keep packets, counters, objects and log in a folder, for rxe_dm report",        \
	  .text = &(tool).record,                                                                  \
	  .needs_text = true },                                                                    \
	{ .name = "record-size",                                                                   \
	  .argument = "MIB",                                                                       \
	  .help = "the last MIB of packets only, default 64",                                      \
	  .number = &(tool).record_mib,                                                            \
	  .min = 1,                                                                                \
	  .max = 1 << 20 },                                                                        \
	{ .name = "world",                                                                         \
	  .argument = "FILE",                                                                      \
	  .help = "with the faults of a file that rxe_dm explore wrote",                           \
	  .text = &(tool).world,                                                                   \
	  .needs_text = true }
/* clang-format on */

/* tool.c. Executes the tool, which removes its options from the first rest arguments. Returns only
 * where the tool does not run: an exit status. */
int tool_run(int argc, char **argv, int rest);

#endif
