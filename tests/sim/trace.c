/* SPDX-License-Identifier: MIT */
/* Traces: one line for each event. */
#include "tests/sim/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/rc/nak.h"
#include "net/wire/opcode.h"

#define LINE_MAX_LEN 256

void trace_fini(struct trace *trace)
{
	free(trace->text);
}

static void append(struct trace *trace, const char *line)
{
	uint32_t len = (uint32_t)strlen(line);

	if (trace->len + len + 1 > trace->room) {
		trace->room = (trace->len + len + 1) * 2;
		trace->text = realloc(trace->text, trace->room);
		assert(trace->text);
	}
	memcpy(trace->text + trace->len, line, len + 1);
	trace->len += len;
}

void trace_line(struct trace *trace, uint64_t now_ns, char letter, const char *format, ...)
{
	char what[LINE_MAX_LEN - 32];
	char line[LINE_MAX_LEN];
	va_list args;

	if (trace->quiet)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(line, sizeof(line), "%8.1f %c %s\n", (double)now_ns / 1000, letter, what);
	append(trace, line);
}

const char *trace_op(const struct wire_packet *packet)
{
	if (!(packet->shape & SHAPE_ACK) || (packet->shape & SHAPE_ATOMIC))
		return wire_op_str(packet->bth.opcode);
	switch (rc_syndrome_class(packet->aeth.syndrome)) {
	case RC_AETH_ACK: return "ACK";
	case RC_AETH_RNR: return "RNR_NAK";
	case RC_AETH_NAK: return "NAK";
	case RC_AETH_RESERVED: return "ACK_RESERVED";
	}
	return "?";
}

static const char *syndrome_str(uint8_t syndrome)
{
	static const char *const names[] = { "sequence", "invalid request", "remote access",
					     "remote operational" };

	return (syndrome & AETH_CODE_MASK) < 4 ? names[syndrome & AETH_CODE_MASK] : "?";
}

static int describe_flush(char *to, size_t room, const struct wire_packet *packet)
{
	uint8_t placement = packet->feth.placement;

	return snprintf(to, room, "%s%s%s", placement & FETH_GLOBAL ? " global" : "",
			placement & FETH_PERSISTENT ? " persistent" : "",
			packet->feth.selectivity == FETH_RANGE ? "" : " region");
}

static void describe_request(char *to, size_t room, const struct wire_packet *packet)
{
	uint32_t shape = packet->shape;
	int n = 0;

	if (shape & SHAPE_XRCETH)
		n += snprintf(to + n, room - (size_t)n, " srq 0x%x", packet->xrc_srqn);
	if (shape & SHAPE_FLUSH)
		n += describe_flush(to + n, room - (size_t)n, packet);
	if (!(shape & SHAPE_ATOMIC))
		n += snprintf(to + n, room - (size_t)n, " len %u",
			      shape & (SHAPE_READ | SHAPE_FLUSH) ? packet->reth.len
								 : packet->payload_len);
	if (shape & SHAPE_IMM)
		n += snprintf(to + n, room - (size_t)n, " imm 0x%x", packet->imm);
	if (shape & SHAPE_IETH)
		n += snprintf(to + n, room - (size_t)n, " inv 0x%x", packet->inv_rkey);
	if (packet->bth.solicited)
		n += snprintf(to + n, room - (size_t)n, " solicited");
	if (packet->bth.ack_req)
		snprintf(to + n, room - (size_t)n, " ackreq");
}

static void describe_answer(char *to, size_t room, const struct wire_packet *packet)
{
	uint8_t syndrome = packet->aeth.syndrome;

	if (packet->shape & SHAPE_ATOMIC)
		snprintf(to, room, " orig %llu", (unsigned long long)packet->atomic_orig);
	else if (packet->shape & SHAPE_READ)
		snprintf(to, room, " len %u", packet->payload_len);
	else if (rc_syndrome_class(syndrome) == RC_AETH_NAK)
		snprintf(to, room, " %s", syndrome_str(syndrome));
	else if (rc_syndrome_class(syndrome) == RC_AETH_RNR)
		snprintf(to, room, " timer %u", syndrome & AETH_CODE_MASK);
	else
		snprintf(to, room, " msn %u", packet->aeth.msn);
}

void trace_packet(struct trace *trace, uint64_t now_ns, char letter, char mark,
		  const struct wire_packet *packet, const char *path)
{
	char more[96] = "";

	if (trace->quiet)
		return;
	if (packet->shape & SHAPE_REQUEST)
		describe_request(more, sizeof(more), packet);
	else
		describe_answer(more, sizeof(more), packet);
	trace_line(trace, now_ns, letter, "%c %s %u%s%s%s", mark, trace_op(packet), packet->bth.psn,
		   more, packet->bth.mig_req ? "" : " armed", path);
}

const char *trace_status_str(uint32_t status)
{
	static const char *const names[] = {
		"SUCCESS",
		"LOC_LEN_ERR",
		"LOC_QP_OP_ERR",
		"LOC_EEC_OP_ERR",
		"LOC_PROT_ERR",
		"WR_FLUSH_ERR",
		"MW_BIND_ERR",
		"BAD_RESP_ERR",
		"LOC_ACCESS_ERR",
		"REM_INV_REQ_ERR",
		"REM_ACCESS_ERR",
		"REM_OP_ERR",
		"RETRY_EXC_ERR",
		"RNR_RETRY_EXC_ERR",
		"LOC_RDD_VIOL_ERR",
		"REM_INV_RD_REQ_ERR",
		"REM_ABORT_ERR",
		"INV_EECN_ERR",
		"INV_EEC_STATE_ERR",
		"FATAL_ERR",
		"RESP_TIMEOUT_ERR",
		"GENERAL_ERR",
		"TM_ERR",
		"TM_RNDV_INCOMPLETE",
	};

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : "?";
}

/* Requests are told from each other by their number; local operations by their name also. */
static const char *send_str(uint32_t opcode)
{
	return opcode == RXE_WC_BIND_MW	    ? "bind"
	       : opcode == RXE_WC_LOCAL_INV ? "invalidate"
					    : "send";
}

/* Operations on a matching list, by opcode. */
static const char *op_str(uint32_t opcode)
{
	return opcode == RXE_WC_TM_ADD	  ? "add"
	       : opcode == RXE_WC_TM_DEL  ? "delete"
	       : opcode == RXE_WC_TM_SYNC ? "sync"
					  : NULL;
}

static void describe_tag(char *to, size_t room, const struct rxe_cqe *cqe)
{
	if (cqe->opcode == RXE_WC_TM_NO_TAG)
		snprintf(to, room, " no tag");
	if (cqe->opcode != RXE_WC_TM_RECV)
		return;
	if (cqe->flags & RXE_WC_TM_MATCH)
		snprintf(to, room, " match %llu priv %u%s", (unsigned long long)cqe->tm_tag,
			 cqe->tm_priv, cqe->flags & RXE_WC_TM_DATA_VALID ? " valid" : "");
	else
		snprintf(to, room, "%s",
			 cqe->flags & RXE_WC_TM_DATA_VALID ? " valid" : " unexpected");
}

void trace_completion(struct trace *trace, uint64_t now_ns, char letter, const struct rxe_cqe *cqe)
{
	const char *status = trace_status_str(cqe->status);
	char more[64] = "";

	if (op_str(cqe->opcode)) {
		trace_line(trace, now_ns, letter, "  %s %llu %s%s", op_str(cqe->opcode),
			   (unsigned long long)cqe->wr_id, status,
			   cqe->flags == RXE_WC_TM_SYNC_REQ ? ", sync"
			   : cqe->flags			    ? ", other flags"
							    : "");
		return;
	}
	if (!(cqe->opcode & RXE_WC_RECV)) {
		trace_line(trace, now_ns, letter, "  %s %llu %s", send_str(cqe->opcode),
			   (unsigned long long)cqe->wr_id, status);
		return;
	}
	if (cqe->flags & RXE_WC_WITH_IMM)
		snprintf(more, sizeof(more), " imm 0x%x", cqe->imm_or_rkey);
	if (cqe->flags & RXE_WC_WITH_INV)
		snprintf(more, sizeof(more), " inv 0x%x", cqe->imm_or_rkey);
	describe_tag(more + strlen(more), sizeof(more) - strlen(more), cqe);
	if (cqe->status == RXE_WC_SUCCESS || cqe->status == RXE_WC_TM_RNDV_INCOMPLETE)
		trace_line(trace, now_ns, letter, "  recv %llu %s len %u%s%s",
			   (unsigned long long)cqe->wr_id, status, cqe->byte_len, more,
			   cqe->solicited ? " solicited" : "");
	else
		trace_line(trace, now_ns, letter, "  recv %llu %s", (unsigned long long)cqe->wr_id,
			   status);
}

const char *trace_event_str(enum rxe_event_type type)
{
	switch (type) {
	case RXE_EVENT_CQ_ERR: return "CQ_ERR";
	case RXE_EVENT_QP_FATAL: return "QP_FATAL";
	case RXE_EVENT_QP_REQ_ERR: return "QP_REQ_ERR";
	case RXE_EVENT_QP_ACCESS_ERR: return "QP_ACCESS_ERR";
	case RXE_EVENT_COMM_EST: return "COMM_EST";
	case RXE_EVENT_SQ_DRAINED: return "SQ_DRAINED";
	case RXE_EVENT_PATH_MIG: return "PATH_MIG";
	case RXE_EVENT_PATH_MIG_ERR: return "PATH_MIG_ERR";
	case RXE_EVENT_SRQ_ERR: return "SRQ_ERR";
	case RXE_EVENT_SRQ_LIMIT_REACHED: return "SRQ_LIMIT_REACHED";
	case RXE_EVENT_QP_LAST_WQE_REACHED: return "QP_LAST_WQE_REACHED";
	}
	return "?";
}
