/* SPDX-License-Identifier: MIT */
/* The connection manager of the server under attack by programs: requests about channels and ids
 * that exist, in any order and with any numbers, between two programs of one device. Events name
 * what exists, and when all programs have left, nothing of theirs remains. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/cm_numbers.h"
#include "lib/control/cm_request.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/cm/host.h"
#include "tests/fuzz/control.h"

#define MAX_CHANNELS 8u
#define MAX_IDS	     16u
#define MAX_DUE	     10000u /* timers of all ids until each exchange is over */

enum cm_flag {
	CM_SPOIL = 0x80,  /* any bytes at any place */
	CM_NO_FD = 0x40,  /* a channel without its socket */
	CM_NUMBER = 0x0f, /* of the channel */
};

static struct {
	int ends[MAX_CHANNELS]; /* the programs' */
	uint32_t channels[MAX_CHANNELS], num_channels;
	uint32_t ids[MAX_IDS], num_ids;
	int offered[2]; /* a pair for the next channel, the program's end first; -1: none */
	bool is_used;
} cm = { .offered = { -1, -1 } };

static union ctl_cm_sockaddr take_address(struct take *take)
{
	const uint8_t how = take_u8(take);
	union ctl_cm_sockaddr ret = { .in = { .sin_family = AF_INET,
					      .sin_port = htons((uint16_t)(7000 + how % 4)) } };

	if (how & 0x10)
		ret.any.sa_family = AF_UNSPEC;
	else if (how & 0x20)
		ret.any.sa_family = AF_INET6;
	else if (!(how & 0x40))
		memcpy(&ret.in.sin_addr, control_device()->link.gid.raw + 12,
		       sizeof(ret.in.sin_addr));
	return ret;
}

static void take_conn(struct ctl_cm_conn *conn, struct take *take)
{
	conn->qpn = take_u8(take);
	conn->responder_resources = take_u8(take);
	conn->initiator_depth = take_u8(take);
	conn->private_len = take_u8(take);
	memset(conn->private_data, 'x', sizeof(conn->private_data));
}

static void take_option(struct ctl_msg_cm *req, struct take *take)
{
	req->level = take_u8(take) % 2;
	req->name = take_u8(take) % 6;
	req->option_len = take_u8(take) % 8;
	memset(req->option, take_u8(take), sizeof(req->option));
}

static void take_rest(struct ctl_msg_cm *req, struct take *take)
{
	static const uint32_t spaces[] = { CTL_CM_PS_TCP, CTL_CM_PS_UDP, CTL_CM_PS_IB,
					   CTL_CM_PS_IPOIB };

	switch ((enum ctl_cm_op)req->op) {
	case CTL_CM_CREATE_ID:
		req->port_space = spaces[take_u8(take) % 4];
		req->qp_type = take_u8(take);
		break;
	case CTL_CM_BIND:
	case CTL_CM_RESOLVE_ADDR:
	case CTL_CM_JOIN:
		req->src = take_address(take);
		req->dst = take_address(take);
		break;
	case CTL_CM_LISTEN: req->backlog = take_u8(take) % 3; break;
	case CTL_CM_CONNECT:
	case CTL_CM_ACCEPT:
	case CTL_CM_REJECT: take_conn(&req->conn, take); break;
	case CTL_CM_NOTIFY: req->event = take_u8(take); break;
	case CTL_CM_INIT_QP_ATTR: req->qp_state = take_u8(take) % 8; break;
	case CTL_CM_SET_OPTION: take_option(req, take); break;
	case CTL_CM_LEAVE: req->membership = take_u8(take) % 4; break;
	case CTL_CM_REFUSED:
		req->refusal.reason = take_u8(take);
		req->refusal.status = (int32_t)take_u32(take);
		break;
	case CTL_CM_CREATE_CHANNEL:
	case CTL_CM_DESTROY_CHANNEL:
	case CTL_CM_PAUSE_CHANNEL:
	case CTL_CM_RESUME_CHANNEL:
	case CTL_CM_DESTROY_ID:
	case CTL_CM_RESOLVE_ROUTE:
	case CTL_CM_ESTABLISH:
	case CTL_CM_DISCONNECT:
	case CTL_CM_QUERY:
	case CTL_CM_MIGRATE:
	case CTL_CM_LIST:
	case CTL_CM_FAILURES:
	case CTL_CM_OP_END: break;
	}
}

static void withdraw_offer(void)
{
	for (int i = 0; i < 2; i++) {
		if (cm.offered[i] >= 0)
			close(cm.offered[i]);
		cm.offered[i] = -1;
	}
}

int control_cm_take(struct ctl_request *req, struct take *take)
{
	struct ctl_msg_cm *msg = &req->cm;
	const uint8_t flags = take_u8(take);

	cm.is_used = true;
	withdraw_offer();
	*msg = (struct ctl_msg_cm){ .op = take_u8(take) % (CTL_CM_OP_END + 1) };
	msg->channel = cm.channels[(flags & CM_NUMBER) % MAX_CHANNELS];
	msg->id = cm.ids[take_u8(take) % MAX_IDS];
	msg->token = take_u8(take);
	take_rest(msg, take);
	if (flags & CM_SPOIL)
		((uint8_t *)msg)[take_u16(take) % sizeof(*msg)] = take_u8(take);
	if (msg->op != CTL_CM_CREATE_CHANNEL || flags & CM_NO_FD)
		return -1;
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cm.offered) == 0);
	return cm.offered[1];
}

static void keep_id(uint32_t id)
{
	cm.ids[cm.num_ids++ % MAX_IDS] = id;
}

static void keep_channel(uint32_t channel)
{
	const uint32_t at = cm.num_channels++ % MAX_CHANNELS;

	if (cm.num_channels > MAX_CHANNELS)
		close(cm.ends[at]);
	cm.channels[at] = channel;
	cm.ends[at] = cm.offered[0];
	cm.offered[0] = -1;
}

void control_cm_answered(const struct ctl_request *req, const struct ctl_reply *reply)
{
	if (reply->status != 0)
		return;
	if (req->cm.op == CTL_CM_CREATE_CHANNEL)
		keep_channel(reply->cm.handle);
	else if (req->cm.op == CTL_CM_CREATE_ID)
		keep_id(reply->cm.handle);
	else if (req->cm.op == CTL_CM_LIST)
		MUST(reply->cm_page.count <= CTL_CM_PAGE);
	else if (req->cm.op == CTL_CM_FAILURES)
		MUST(reply->cm_failures.count <= CTL_CM_FAILURES_PAGE);
}

static void event_arrived(const struct ctl_cm_event *event)
{
	MUST(event->id != 0 && event->token != 0);
	MUST(event->event <= CTL_CM_EVENT_TIMEWAIT_EXIT);
	MUST((event->event == CTL_CM_EVENT_CONNECT_REQUEST) == (event->new_id != 0));
	MUST(event->addr.device < control_instance.num_devices);
	if (event->new_id)
		keep_id(event->new_id);
}

void control_cm_read(struct take *take)
{
	const uint32_t at = take_u8(take) % MAX_CHANNELS;
	struct ctl_cm_event event;

	if (at < cm.num_channels &&
	    recv(cm.ends[at], &event, sizeof(event), MSG_DONTWAIT) == sizeof(event))
		event_arrived(&event);
}

void control_cm_end(void)
{
	uint64_t due_ns = 0;

	withdraw_offer();
	for (uint32_t i = 0; i < cm.num_channels && i < MAX_CHANNELS; i++)
		close(cm.ends[i]);
	MUST(!cma_id_next(control_instance.cm.ids, NULL));
	for (uint32_t i = 0; cm.is_used && i < MAX_DUE; i++) {
		gsi_deliver(&control_instance);
		(void)gsi_run(control_device(), control_now_ns);
		due_ns = cm_run(&control_instance, control_now_ns);
		if (due_ns == UINT64_MAX && !control_instance.cm.local)
			break;
		if (due_ns != UINT64_MAX && due_ns > control_now_ns)
			control_now_ns = due_ns;
	}
	MUST(!cm.is_used || due_ns == UINT64_MAX);
	memset(cm.ids, 0, sizeof(cm.ids));
	memset(cm.channels, 0, sizeof(cm.channels));
	cm.num_ids = cm.num_channels = 0;
	cm.is_used = false;
}
