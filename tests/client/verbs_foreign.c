// SPDX-License-Identifier: MIT
/* Another user of the host forges packets of a peer: from the peer's own address, with ICRC, QPN,
 * key and PSN as they must be. Nothing arrives, and nothing is lost of what the peer sends
 * meanwhile. Two users need root. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define NOBODY	  65534
#define LEN	  64u
#define AT	  4096u
#define FORGED	  0xeeu
#define PSNS	  2000u
#define FLOOD_S	  2
#define UDP_PORT  4791
#define MAX_BYTES (WIRE_MAX_HEADERS + LEN + ICRC_LEN)

struct forger {
	int fd;
	struct icrc_flow flow;
};

static struct gid gid_of(const union ibv_gid *gid)
{
	struct gid ret;

	memcpy(ret.raw, gid->raw, sizeof(ret.raw));
	return ret;
}

static socklen_t set_addr(struct sockaddr_in *ret, const struct gid *gid, uint16_t port)
{
	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	memcpy(&ret->sin_addr, gid->raw + 12, 4);
	return sizeof(*ret);
}

/* A socket on the device's own address, sending identification 0 as devices do. */
static void forger_open(struct forger *ret, const struct end_address *victim)
{
	const int discover = IP_PMTUDISC_DO;
	struct sockaddr_in addr;
	socklen_t len;

	ret->flow.src = ret->flow.dst = gid_of(&victim->gid);
	len = set_addr(&addr, &ret->flow.src, 0);
	ret->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(ret->fd, (const struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(getsockname(ret->fd, (struct sockaddr *)&addr, &len), 0);
	ret->flow.src_port = ntohs(addr.sin_port);
	ck_assert_int_eq(
		setsockopt(ret->fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)), 0);
}

static void forge(const struct forger *forger, enum wire_service service, enum wire_op op,
		  uint32_t psn, const struct end_address *victim)
{
	const struct wire_packet packet = {
		.bth = { .opcode = opcode_make(service, op),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = victim->qpn,
			 .psn = psn & PSN_MASK },
		.reth = { .va = victim->addr + AT, .rkey = victim->rkey, .len = LEN },
	};
	struct sockaddr_in to;
	const socklen_t to_len = set_addr(&to, &forger->flow.dst, UDP_PORT);
	uint8_t bytes[MAX_BYTES];
	const size_t n = wire_emit_headers(bytes, &packet);

	memset(bytes + n, FORGED, LEN);
	icrc_store(bytes + n + LEN, icrc_compute(&forger->flow, 0, bytes, n + LEN));
	(void)!sendto(forger->fd, bytes, n + LEN + ICRC_LEN, 0, (const struct sockaddr *)&to,
		      to_len);
}

/* Run what as another user, in a process of its own. */
static pid_t as_nobody(void (*what)(const struct end_address *victim),
		       const struct end_address *victim)
{
	const pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		_exit(2);
	what(victim);
	_exit(0);
}

static void await(pid_t pid)
{
	int status = -1;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* Round the PSN that is expected next. */
static void forge_uc(const struct end_address *victim)
{
	struct forger forger;

	forger_open(&forger, victim);
	for (uint32_t i = 0; i < PSNS; i++) {
		forge(&forger, WIRE_UC, OP_WRITE_ONLY, FIXTURE_PSN + i, victim);
		forge(&forger, WIRE_UC, OP_SEND_ONLY, FIXTURE_PSN + i, victim);
	}
}

static void forge_rc(const struct end_address *victim)
{
	struct forger forger;

	forger_open(&forger, victim);
	for (uint32_t i = 0; i < PSNS; i++) {
		forge(&forger, WIRE_RC, OP_WRITE_ONLY, FIXTURE_PSN + i, victim);
		forge(&forger, WIRE_RC, OP_SEND_ONLY, FIXTURE_PSN + i, victim);
	}
}

static void flood_rc(const struct end_address *victim)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	do {
		forge_rc(victim);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec + FLOOD_S);
}

/* A SEND into the open receive: nothing else has taken it. */
static void send_one(struct end *from, struct end *to, uint32_t number)
{
	fill(from->memory, LEN, number);
	end_post(from, IBV_WR_SEND, number, 0, LEN);
	end_wait_for(from, number, IBV_WC_SUCCESS);
	end_wait_for(to, number, IBV_WC_SUCCESS);
	expect_filled(to->memory, LEN, number);
}

static void check(enum ibv_qp_type type, void (*attack)(const struct end_address *victim))
{
	const struct end_cfg cfg = { .type = type };
	struct end_address victim;
	struct end a, b;

	if (geteuid() != 0)
		return;
	ends_open(&a, &b, &cfg);
	victim = end_address(&b);
	end_recv(&b, 1, 0, LEN);
	await(as_nobody(attack, &victim));
	send_one(&a, &b, 1);
	expect_zero(b.memory + AT, LEN);
	end_expect_nothing(&b);
	ends_close(&a, &b);
}

START_TEST(uc_is_not_forged)
{
	check(IBV_QPT_UC, forge_uc);
}
END_TEST

START_TEST(rc_is_not_forged)
{
	check(IBV_QPT_RC, forge_rc);
}
END_TEST

START_TEST(a_flood_disturbs_nobody)
{
	struct end_address victim;
	struct end a, b;
	uint32_t number = 0;
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		return;
	ends_open(&a, &b, NULL);
	victim = end_address(&b);
	pid = as_nobody(flood_rc, &victim);
	do {
		end_recv(&b, ++number, 0, LEN);
		send_one(&a, &b, number);
	} while (waitpid(pid, &status, WNOHANG) == 0);
	ck_assert_int_eq(status, 0);
	expect_zero(b.memory + AT, LEN);
	ends_close(&a, &b);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, uc_is_not_forged);
	tcase_add_test(tests, rc_is_not_forged);
	tcase_add_test(tests, a_flood_disturbs_nobody);
}

int main(void)
{
	return fixture_main("foreign", add_tests);
}
