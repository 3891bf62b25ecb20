// SPDX-License-Identifier: MIT
/* The group of receive sockets: the slot that a packet reaches, exclusive use of the address, what
 * a reused slot keeps. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private_network.h"
#include "tests/suite.h"
#include "udp_fixture.h"

#define SLOTS 8u

static uint8_t buf[TRAIN_MAX_BYTES];

static void send_one(struct udp_end *from, const struct gid *dst, uint32_t qpn, uint32_t len)
{
	struct wire_train train;

	train_begin(&train, buf, from, dst, 0);
	ck_assert(train_packet(&train, from, qpn, 1, len));
	ck_assert_int_eq(link_send(from->link, &train, 1), 1);
}

/* Each packet reaches the socket that the top bits of its QPN select, and no other. */
static void check_steering(const char *from_address, const char *to_address)
{
	static const struct {
		uint32_t qpn, len, slot;
	} row[] = {
		{ 0x000001, 64, 0 }, { 0x010002, 64, 1 },	 { 0x05ffff, 64, 5 },
		{ 0x07abcd, 16, 7 }, { 0x080000, 64, 0 },	 { 0xff1234, 64, 0 },
		{ 0x030000, 5, 0 },  { 0x020007, 4096 + 64, 2 },
	};
	const struct gid dst = gid_of(to_address);
	struct link *slot[SLOTS];
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, from_address, 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, to_address, SLOTS, 0, true), 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		ck_assert_ptr_nonnull(slot[i] = end_link(&b, i));

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct wire_arrival got;

		send_one(&a, &dst, row[i].qpn, row[i].len);
		ck_assert_int_eq(await(slot[row[i].slot], &got, 1), 1);
		ck_assert_uint_eq(got.len, row[i].len);
		if (row[i].len > BTH_LEN)
			ck_assert(arrival_good(&got, row[i].qpn, 1, row[i].len));
		for (uint32_t k = 0; k < SLOTS; k++)
			ck_assert(nothing(slot[k]));
	}

	for (uint32_t i = 0; i < SLOTS; i++)
		link_close(slot[i]);
	end_close(&b);
	end_close(&a);
}

START_TEST(steering_v4)
{
	check_steering("127.77.0.1", "127.77.0.2");
}
END_TEST

START_TEST(steering_v6_to_itself)
{
	const struct gid self = gid_of("::1");
	struct wire_arrival got;
	struct udp_end b;
	struct link *three;

	ck_assert_int_eq(end_open(&b, "::1", SLOTS, 0, true), 0);
	three = end_link(&b, 3);
	send_one(&b, &self, 0x030042, 100);
	ck_assert_int_eq(await(three, &got, 1), 1);
	ck_assert(arrival_good(&got, 0x030042, 1, 100));
	ck_assert_int_eq(got.id_rule, IP_ID_EXACT);
	ck_assert(nothing(b.link));
	link_close(three);
	end_close(&b);
}
END_TEST

/* As many slots as a device has. */
START_TEST(steering_256)
{
	const struct gid dst = gid_of("127.77.0.2");
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, "127.77.0.2", 256, 255, true), 0);
	ck_assert_uint_ge(b.group.rcvbuf, 4096);
	for (uint32_t i = 0; i < 256; i += 51) {
		struct link *link = end_link(&b, i);
		struct wire_arrival got;

		send_one(&a, &dst, i << 16 | 7, 64);
		ck_assert_int_eq(await(link, &got, 1), 1);
		ck_assert(arrival_good(&got, i << 16 | 7, 1, 64));
		link_close(link);
	}
	end_close(&b);
	end_close(&a);
}
END_TEST

START_TEST(address_taken)
{
	const struct gid gid = gid_of("127.77.0.1");
	struct udp_group first, second;

	ck_assert_int_eq(udp_group_open(&first, &gid, 2), 0);
	ck_assert_int_eq(udp_group_open(&second, &gid, 2), -EADDRINUSE);
	/* The first group still works. */
	udp_group_close(&first);
	ck_assert_int_eq(udp_group_open(&second, &gid, 2), 0);
	udp_group_close(&second);
	udp_group_close(&second);
}
END_TEST

START_TEST(address_bad)
{
	const struct gid foreign = gid_of("192.0.2.1"), mcast = gid_of("239.1.2.3"),
			 self = gid_of("127.77.0.1");
	struct udp_group group;

	ck_assert_int_eq(udp_group_open(&group, &foreign, 2), -EADDRNOTAVAIL);
	ck_assert_int_eq(udp_group_open(&group, &mcast, 2), -EINVAL);
	ck_assert_int_eq(udp_group_open(&group, &self, 0), -EINVAL);
	ck_assert_int_eq(udp_group_open(&group, &self, 257), -EINVAL);
}
END_TEST

/* A sandbox whose kernel refuses steering programs: SO_ATTACH_REUSEPORT_CBPF fails. */
static void refuse_steering(uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_ATTACH_REUSEPORT_CBPF, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

START_TEST(kernels_that_steer)
{
	ck_assert(!udp_cannot_steer());
}
END_TEST

START_TEST(kernels_that_do_not_steer)
{
	static const uint32_t errors[] = { ENOPROTOOPT, EOPNOTSUPP, EPERM, ENOSYS };
	const struct gid self = gid_of("127.77.0.1");
	struct udp_group group;

	refuse_steering(errors[_i]);
	ck_assert(udp_cannot_steer());
	ck_assert_int_eq(udp_group_open(&group, &self, 2), -(int)errors[_i]);
}
END_TEST

/* Another failure says nothing about steering. */
START_TEST(no_memory_for_steering)
{
	refuse_steering(ENOMEM);
	ck_assert(!udp_cannot_steer());
}
END_TEST

/* The number 0 is a descriptor as good as any. */
START_TEST(sockets_of_number_0)
{
	const struct gid self = gid_of("127.77.0.1");
	struct udp_group group;

	close(0);
	ck_assert_int_eq(udp_group_open(&group, &self, 2), 0);
	ck_assert_int_ge(fcntl(0, F_GETFD), 0);
	udp_group_close(&group);
	ck_assert_int_eq(fcntl(0, F_GETFD), -1);
	ck_assert_int_eq(udp_group_open(&group, &self, 2), 0);
	/* The receive socket has it. */
	ck_assert_int_eq(close(group.tx_fd[0]), 0);
	group.tx_fd[0] = -1;
	ck_assert_int_eq(dup2(group.fd[1], 0), 0);
	ck_assert_int_eq(close(group.fd[1]), 0);
	group.fd[1] = 0;
	udp_group_close(&group);
	ck_assert_int_eq(fcntl(0, F_GETFD), -1);
}
END_TEST

/* What a former process left unread does not reach the next one; other slots keep theirs. */
START_TEST(drained_slot)
{
	const struct gid dst = gid_of("127.77.0.2");
	struct wire_arrival got;
	struct link *one, *two;
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, "127.77.0.2", SLOTS, 0, true), 0);
	for (uint32_t i = 0; i < 200; i++)
		send_one(&a, &dst, 0x010002, 64);
	send_one(&a, &dst, 0x020002, 64);
	two = end_link(&b, 2);
	ck_assert_int_eq(await(two, &got, 1), 1);

	udp_group_drain(&b.group, 1);
	one = end_link(&b, 1);
	ck_assert(nothing(one));
	udp_group_drain(&b.group, 1);
	send_one(&a, &dst, 0x010003, 64);
	ck_assert_int_eq(await(one, &got, 1), 1);
	ck_assert(arrival_good(&got, 0x010003, 1, 64));

	link_close(one);
	link_close(two);
	end_close(&b);
	end_close(&a);
}
END_TEST

/* The process closes its copy of a slot's socket; group and steering are unchanged. */
START_TEST(reused_slot)
{
	const struct gid dst = gid_of("127.77.0.2");
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, "127.77.0.2", SLOTS, 0, true), 0);
	for (uint32_t turn = 0; turn < 4; turn++) {
		struct link *link = end_link(&b, 4);
		struct wire_arrival got;

		send_one(&a, &dst, 0x040000 + turn, 64);
		ck_assert_int_eq(await(link, &got, 1), 1);
		ck_assert(arrival_good(&got, 0x040000 + turn, 1, 64));
		link_close(link);
	}
	end_close(&b);
	end_close(&a);
}
END_TEST

/* Opens a link that sends from the ports of the end's group, as a process of its device does. */
static struct link *end_process(struct udp_end *end, uint32_t slot)
{
	struct udp_cfg cfg = { .gid = end->group.gid,
			       .rx_fd = end->group.fd[slot],
			       .trains = true };
	struct link *link = NULL;

	memcpy(cfg.tx_port, end->group.tx_port, sizeof(cfg.tx_port));
	return udp_open(&link, &cfg) == 0 ? link : NULL;
}

static void send_by(struct link *link, const struct udp_end *end, const struct gid *dst,
		    uint8_t tx_index, uint32_t qpn)
{
	struct wire_train train;

	train_begin(&train, buf, end, dst, tx_index);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert(train_packet(&train, end, qpn, i, 200));
	ck_assert_int_eq(link_send(link, &train, 1), 1);
}

static bool arrives(struct link *at)
{
	struct wire_arrival got[4];

	return await(at, got, 4) == 3;
}

/* A guarded group accepts packets of this host from its own ports and from known senders, and
 * counts the others. */
static void check_guard(const char *from_address, const char *to_address)
{
	const struct gid dst = gid_of(to_address);
	struct link *own, *theirs, *at;
	struct udp_local known;
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, from_address, 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, to_address, SLOTS, 0, true), 0);
	ck_assert_ptr_nonnull(at = end_link(&b, 1));
	ck_assert_ptr_nonnull(own = end_process(&b, 2));
	ck_assert_ptr_nonnull(theirs = end_process(&a, 0));
	known.gid = a.group.gid;
	memcpy(known.port, a.group.tx_port, sizeof(known.port));

	/* Without the guard all are accepted. */
	send_by(a.link, &a, &dst, 0, 0x010002);
	ck_assert(arrives(at));

	/* Only its own. */
	ck_assert_int_eq(udp_group_guard(&b.group, NULL, 0), 0);
	send_by(a.link, &a, &dst, 0, 0x010002);
	send_by(theirs, &a, &dst, 1, 0x010002);
	ck_assert_uint_eq(udp_group_foreign(&b.group), 2);
	for (uint8_t i = 0; i < LINK_TX_PORTS; i++) {
		send_by(own, &b, &dst, i, 0x010002);
		ck_assert(arrives(at));
	}

	/* A known sender is accepted too, but only from its group's ports. */
	ck_assert_int_eq(udp_group_guard(&b.group, &known, 1), 0);
	send_by(a.link, &a, &dst, 0, 0x010002);
	ck_assert_uint_eq(udp_group_foreign(&b.group), 3);
	for (uint8_t i = 0; i < LINK_TX_PORTS; i++) {
		send_by(theirs, &a, &dst, i, 0x010002);
		ck_assert(arrives(at));
	}
	send_by(own, &b, &dst, 0, 0x010002);
	ck_assert(arrives(at));

	/* Removed from the list, it is foreign again. */
	ck_assert_int_eq(udp_group_guard(&b.group, NULL, 0), 0);
	send_by(theirs, &a, &dst, 0, 0x010002);
	ck_assert_uint_eq(udp_group_foreign(&b.group), 4);
	ck_assert(nothing(at));

	link_close(at);
	link_close(own);
	link_close(theirs);
	end_close(&b);
	end_close(&a);
}

START_TEST(guard_v4)
{
	check_guard("127.77.0.1", "127.77.0.2");
}
END_TEST

/* Adds an address of the test's own network beside ::1, if the test may. */
static bool add_address_v6(void)
{
	return system("ip -6 address add fd00:77::1/128 dev lo nodad 2>/dev/null") == 0;
}

START_TEST(guard_v6)
{
	if (add_address_v6())
		check_guard("fd00:77::1", "::1");
}
END_TEST

/* The most known senders, the test's the last of them. */
static void check_many(const char *address, const char *other)
{
	static struct udp_local known[UDP_MAX_LOCALS + 1];
	const struct gid dst = gid_of(address);
	struct link *theirs, *at;
	struct udp_end a, b;

	ck_assert_int_eq(end_open(&a, other, 1, 0, true), 0);
	ck_assert_int_eq(end_open(&b, address, SLOTS, 0, true), 0);
	ck_assert_ptr_nonnull(at = end_link(&b, 1));
	ck_assert_ptr_nonnull(theirs = end_process(&a, 0));
	for (uint32_t i = 0; i < UDP_MAX_LOCALS; i++)
		known[i].gid = gid_of(other);
	memcpy(known[UDP_MAX_LOCALS - 1].port, a.group.tx_port, sizeof(known[0].port));
	ck_assert_int_eq(udp_group_guard(&b.group, known, UDP_MAX_LOCALS + 1), -ENOSPC);
	ck_assert_int_eq(udp_group_guard(&b.group, known, UDP_MAX_LOCALS), 0);
	send_by(theirs, &a, &dst, 3, 0x010002);
	ck_assert(arrives(at));
	link_close(at);
	link_close(theirs);
	end_close(&b);
	end_close(&a);
}

START_TEST(guard_many)
{
	check_many("127.77.0.2", "127.77.0.1");
	if (add_address_v6())
		check_many("::1", "fd00:77::1");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp_group");
	TCase *tc = tcase_create("steering");

	(void)private_network();
	tcase_add_test(tc, steering_v4);
	tcase_add_test(tc, steering_v6_to_itself);
	tcase_add_test(tc, steering_256);
	suite_add_tcase(suite, tc);
	tc = tcase_create("slots");
	tcase_add_test(tc, address_taken);
	tcase_add_test(tc, address_bad);
	tcase_add_test(tc, kernels_that_steer);
	tcase_add_loop_test(tc, kernels_that_do_not_steer, 0, 4);
	tcase_add_test(tc, no_memory_for_steering);
	tcase_add_test(tc, sockets_of_number_0);
	tcase_add_test(tc, drained_slot);
	tcase_add_test(tc, reused_slot);
	suite_add_tcase(suite, tc);
	tc = tcase_create("guard");
	tcase_add_test(tc, guard_v4);
	tcase_add_test(tc, guard_v6);
	tcase_add_test(tc, guard_many);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
