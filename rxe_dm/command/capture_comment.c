// SPDX-License-Identifier: MIT
/* Comments of captured packets: one line, the same words in the same order for every packet. */
#include "rxe_dm/command/capture_comment.h"

#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "rxe_dm/command/view.h"

const char *capture_request_str(uint32_t opcode)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
		[IBV_WR_SEND] = "SEND",
		[IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
		[IBV_WR_RDMA_READ] = "RDMA_READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
		[IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
		/* Of a newer verbs.h. */
		[14] = "FLUSH",
		[15] = "ATOMIC_WRITE",
	};

	if (opcode < sizeof(names) / sizeof(names[0]) && names[opcode])
		return names[opcode];
	return "?";
}

__attribute__((format(printf, 3, 4))) static void add(char *line, size_t *len, const char *format,
						      ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line + *len, CAPTURE_LINE_MAX - *len, format, args);
	va_end(args);
	if (n > 0)
		*len += (size_t)n;
	if (*len >= CAPTURE_LINE_MAX)
		*len = CAPTURE_LINE_MAX - 1;
}

void capture_comment(char ret[static CAPTURE_LINE_MAX], const struct capture_record *record,
		     uint64_t missing)
{
	char comm[CAPTURE_COMM_MAX], note[CAPTURE_NOTE_MAX + 1];
	size_t len = 0;

	add(ret, &len, "%s[%d]", view_plain(comm, sizeof(comm), record->comm, CAPTURE_COMM_MAX),
	    (int)record->pid);
	if (record->flags & CAPTURE_HAS_QP)
		add(ret, &len, " QP 0x%06x %s", record->qpn, view_qp_type(record->qp_type));
	if (record->flags & CAPTURE_HAS_WR)
		add(ret, &len, ", %s%s wr_id 0x%" PRIx64,
		    record->flags & CAPTURE_SENT ? "" : "answers ",
		    capture_request_str(record->wr_opcode), record->wr_id);
	if (record->flags & CAPTURE_LOST)
		add(ret, &len, "; LOST");
	if (record->note_len)
		add(ret, &len, "; %s",
		    view_plain(note, sizeof(note), capture_record_note(record), record->note_len));
	if (missing)
		add(ret, &len, "; %" PRIu64 " packets of this program are missing before it",
		    missing);
}
