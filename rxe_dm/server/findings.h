/* SPDX-License-Identifier: MIT */
/* Findings of programs that run with --check: descriptors of the memory that they write
 * (lib/findings/record.h). The server keeps them after the programs have exited, and does not
 * read them: what a program writes there cannot harm the server. */
#ifndef RXE_DM_SERVER_FINDINGS_H
#define RXE_DM_SERVER_FINDINGS_H

#include <stdint.h>

/* A process has one; of more, the oldest are dropped. */
#define FINDINGS_KEPT 128u

struct kept_findings {
	uint32_t count; /* never reset: at[(count - 1) % FINDINGS_KEPT] is the newest */
	int fd[FINDINGS_KEPT];
};

void findings_close(struct kept_findings *kept);

#endif
