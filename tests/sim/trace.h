/* SPDX-License-Identifier: MIT */
/* Traces of the simulation, as lines for people:
 *
 *      0.0 a > SEND_ONLY 100 len 64 ackreq     an end sent a packet; x: it was lost, d: duplicated,
 *                                              l: delayed, c: corrupted
 *      5.0 b   recv 1 SUCCESS len 64           a completion, an event, a rewind or a dropped
 *                                              packet */
#ifndef RXE_SIM_TRACE_H
#define RXE_SIM_TRACE_H

#include <stdint.h>

#include "emu/cq.h"
#include "emu/host.h"
#include "net/wire/packet.h"

struct trace {
	char *text;
	uint32_t len, room;
	uint32_t quiet; /* nothing is written */
};

void trace_fini(struct trace *trace);
__attribute__((format(printf, 4, 5))) void trace_line(struct trace *trace, uint64_t now_ns,
						      char letter, const char *format, ...);
/* The operation's name as on the wire, except that ACK, NAK and RNR_NAK are distinguished. */
const char *trace_op(const struct wire_packet *packet);
/* mark: '>' or what the link did. A packet without MigReq is "armed". path: how the path is named,
 * nothing for the usual one. */
void trace_packet(struct trace *trace, uint64_t now_ns, char letter, char mark,
		  const struct wire_packet *packet, const char *path);
void trace_completion(struct trace *trace, uint64_t now_ns, char letter, const struct rxe_cqe *cqe);
const char *trace_event_str(enum rxe_event_type type);
const char *trace_status_str(uint32_t status);

#endif
