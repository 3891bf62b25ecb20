// SPDX-License-Identifier: MIT
/* Two ends of UDP links for tests. Waits by poll() with a bound; nothing sleeps. */
#include "udp_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/wire/opcode.h"

struct gid gid_of(const char *address)
{
	struct gid gid = { { 0 } };

	if (inet_pton(AF_INET, address, gid.raw + 12) == 1)
		memset(gid.raw + 10, 0xff, 2);
	else
		(void)inet_pton(AF_INET6, address, gid.raw);
	return gid;
}

static void hear(void *arg, const char *line)
{
	struct udp_end *end = arg;

	end->says++;
	(void)snprintf(end->said, sizeof(end->said), "%s", line);
}

int end_open(struct udp_end *end, const char *address, uint32_t slots, uint32_t slot, bool trains)
{
	const struct gid gid = gid_of(address);
	struct udp_cfg cfg = { .gid = gid, .trains = trains, .log.write = hear, .log.arg = end };
	int rc;

	memset(end, 0, sizeof(*end));
	rc = udp_group_open(&end->group, &gid, slots);
	if (rc != 0)
		return rc;
	cfg.rx_fd = end->group.fd[slot];
	rc = udp_open(&end->link, &cfg);
	if (rc != 0) {
		udp_group_close(&end->group);
		return rc;
	}
	(void)link_tx_ports(end->link, end->ports, LINK_TX_PORTS);
	return 0;
}

void end_close(struct udp_end *end)
{
	link_close(end->link);
	udp_group_close(&end->group);
}

struct link *end_link(struct udp_end *end, uint32_t slot)
{
	const struct udp_cfg cfg = { .gid = end->group.gid, .rx_fd = end->group.fd[slot] };
	struct link *link = NULL;

	return udp_open(&link, &cfg) == 0 ? link : NULL;
}

void train_begin(struct wire_train *train, uint8_t *buf, const struct udp_end *from,
		 const struct gid *dst, uint8_t tx_index)
{
	*train = (struct wire_train){ .buf = buf,
				      .max_segs = TRAIN_MAX_SEGS,
				      .tx_index = tx_index,
				      .hop_limit = 64,
				      .src = from->group.gid,
				      .dst = *dst };
}

/* Writes bytes that follow from psn, after a valid BTH, which steering and the splitting of trains
 * read. */
static void fill_packet(uint8_t *p, uint32_t qpn, uint32_t psn, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(psn * 31 + i * 7);
	if (len < BTH_LEN)
		return;
	p[0] = OP_SEND_ONLY;
	p[1] = 0;
	p[2] = p[3] = 0xff;
	p[5] = (uint8_t)(qpn >> 16);
	p[6] = (uint8_t)(qpn >> 8);
	p[7] = (uint8_t)qpn;
}

bool train_packet(struct wire_train *train, const struct udp_end *from, uint32_t qpn, uint32_t psn,
		  uint32_t len)
{
	const struct icrc_flow flow = { .src = train->src,
					.dst = train->dst,
					.src_port = from->ports[train->tx_index] };
	const uint16_t index = train->segs;
	uint8_t *p = wire_train_add(train, len);

	if (!p)
		return false;
	fill_packet(p, qpn, psn, len);
	if (len >= BTH_LEN + ICRC_LEN)
		icrc_store(p + len - ICRC_LEN, icrc_compute(&flow, index, p, len - ICRC_LEN));
	return true;
}

int await(struct link *link, struct wire_arrival *ret, size_t max)
{
	struct pollfd p = { .fd = link_wait_fd(link), .events = POLLIN };
	const int n = link_receive(link, ret, max);

	if (n != 0 || poll(&p, 1, AWAIT_MS) <= 0)
		return n;
	return link_receive(link, ret, max);
}

bool nothing(struct link *link)
{
	struct wire_arrival a;

	return link_receive(link, &a, 1) == 0;
}

bool arrival_good(const struct wire_arrival *arrival, uint32_t qpn, uint32_t psn, uint32_t len)
{
	const struct icrc_flow flow = { .src = arrival->src,
					.dst = arrival->dst,
					.src_port = arrival->src_port };
	uint8_t want[TRAIN_MAX_BYTES];

	if (arrival->len != len || len < BTH_LEN + ICRC_LEN)
		return false;
	fill_packet(want, qpn, psn, len);
	return memcmp(arrival->p, want, len - ICRC_LEN) == 0 &&
	       icrc_check(&flow, arrival->id_rule, arrival->ip_id, arrival->p, len) == ICRC_OK;
}

int refuse_calls(uint32_t one, uint32_t other, uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = 5, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
