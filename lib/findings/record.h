/* SPDX-License-Identifier: MIT */
/* Findings: what `rxe_dm run --check` found to be wrong in a program.
 *
 * table.c is the list of checks; this header is the memory by which findings travel. A process
 * that is checked makes one area (a sealed memfd), gives the device server a descriptor of it, and
 * writes its findings there. The server keeps the descriptor after the process has exited and never
 * looks inside. The command reads the area, and makes symbols of the stacks. So findings are there
 * after a kill, and no finding needs a round trip.
 *
 * Called by lib/check (writes), rxe_dm/server (keeps) and rxe_dm/command (reads). The room needs
 * no other, takes no lock and makes no system call. */
#ifndef RXE_FINDINGS_RECORD_H
#define RXE_FINDINGS_RECORD_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define FINDINGS_MAGIC	 0x31646e69665f6d64ull /* "dm_find1" */
#define FINDINGS_MAX	 256u		       /* of a process; more are only counted */
#define FINDINGS_MODULES 96u
#define FINDING_TEXT	 400u
#define FINDING_STACKS	 3u
#define FINDING_DEPTH	 16u
#define FINDING_ID_MAX	 16u

/* No module: the offset is an address of the process. */
#define FINDING_NO_MODULE UINT32_MAX

/* An executable or shared object of the process. */
struct finding_module {
	uint8_t build_id[20];
	uint32_t build_id_len; /* 0: it has none */
	char path[232];
};
static_assert(sizeof(struct finding_module) == 256, "shared memory layout");

/* A return address: its offset from where the module's lowest address in the file was loaded. */
struct finding_frame {
	uint64_t offset;
	uint32_t module; /* index in the area, or FINDING_NO_MODULE */
	uint32_t reserved;
};

struct finding_stack {
	char what[48]; /* what happened there: "posted here" */
	uint32_t depth;
	uint32_t thread; /* gettid(2); 0: unknown */
	struct finding_frame frame[FINDING_DEPTH];
};

struct finding {
	char id[FINDING_ID_MAX];
	uint64_t epoch_ns;	/* since 1970, the first time */
	_Atomic uint32_t times; /* how often; 0: the finding is not complete */
	uint32_t num_stacks;
	char text[FINDING_TEXT]; /* what and which objects, one sentence */
	struct finding_stack stack[FINDING_STACKS];
};
static_assert(sizeof(struct finding) % 8 == 0, "shared memory layout");

struct findings {
	uint64_t magic;
	uint64_t run; /* RXE_DM_CHECK_RUN: the same in all descendants of a run; 0: none */
	int32_t pid;
	char comm[16];
	_Atomic uint32_t num_modules, count; /* raised when the entry is complete */
	_Atomic uint32_t dropped;	     /* findings for which there was no space */
	struct finding_module module[FINDINGS_MODULES];
	struct finding at[FINDINGS_MAX];
};

#endif
