/* SPDX-License-Identifier: MIT */
/* Functions and source lines of the addresses in findings, by elfutils' libdw. A build without it
 * has none. */
#ifndef RXE_DM_COMMAND_SYMBOLS_H
#define RXE_DM_COMMAND_SYMBOLS_H

#include <stdint.h>

struct finding_frame;
struct findings;
struct symbols;

struct symbol {
	char function[128]; /* "": unknown */
	char file[256];
	int line; /* 0: unknown */
	char module[240];
	char build_id[41]; /* hexadecimal; "": none */
};

/* Of a process's area, which must stay until symbols_close(). NULL: no memory. */
struct symbols *symbols_open(const struct findings *area);
void symbols_close(struct symbols *symbols);
struct symbol symbols_find(struct symbols *symbols, const struct finding_frame *frame);

#endif
