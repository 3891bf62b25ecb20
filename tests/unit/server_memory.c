// SPDX-License-Identifier: MIT
/* Rings of a memory link, as a server hands them out: each process writes its own and no
 * other process's. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/memory/private.h"
#include "server_fixture.h"

static struct program p;
static _Atomic uint32_t *childs_slot;

static void start_memory(void)
{
	fixture_setup();
	setenv("RXE_DM_LINK", "memory", 1);
	ck_assert_int_eq(fixture_command("start", "--slots", "8", NULL), 0);
	childs_slot = mmap(NULL, sizeof(*childs_slot), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(childs_slot, MAP_FAILED);
	program_open(&p);
}

static void stop(void)
{
	program_close(&p);
	fixture_teardown();
}

static int meet(void *arg, uint32_t from, uint32_t to, uint32_t *ret_epoch)
{
	const struct program *program = arg;

	(void)from;
	return ctl_meet(program->client, 0, to, ret_epoch);
}

static struct link *open_link(struct program *program)
{
	const struct memory_cfg cfg = { .slot = program->at.slot,
					.hub_fd = program->at.hub_fd,
					.file_fd = program->at.tx_fd,
					.doorbell_fd = program->at.rx_fd,
					.bells = program->at.shared->remote_requests.bells,
					.meet = meet,
					.meet_arg = program,
					.trains = true };
	struct link *link;

	ck_assert_int_eq(memory_open(&link, &cfg), 0);
	return link;
}

/* Attaches, then opens its link when told to. */
static void run_child(int channel)
{
	struct program own;

	program_open(&own);
	atomic_store(childs_slot, own.at.slot);
	channel_say(channel);
	channel_wait(channel);
	(void)open_link(&own);
	channel_say(channel);
	channel_wait(channel);
}

static bool can_write(int fd)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		ck_assert_int_eq(errno, EPERM);
	else
		munmap(map, 4096);
	return map != MAP_FAILED;
}

START_TEST(rings_of_others_are_read_only)
{
	uint32_t epoch = 0;
	int channel, fd;
	const pid_t child = child_start(run_child, &channel);

	channel_wait(channel);
	ck_assert_int_eq(ctl_meet(p.client, 0, *childs_slot, &epoch), -EAGAIN);
	channel_say(channel);
	channel_wait(channel);
	fd = ctl_meet(p.client, 0, *childs_slot, &epoch);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_ne(epoch, 0);
	ck_assert(!can_write(fd));
	ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), -1);
	/* A process that is killed leaves rings that are sealed all the same. */
	child_kill(child);
	ck_assert(!can_write(fd));
	close(fd);
}
END_TEST

START_TEST(own_rings_are_sealed_once_mapped)
{
	struct link *link;
	uint32_t epoch;
	int fd;

	ck_assert(can_write(p.at.tx_fd));
	ck_assert(!can_write(p.at.hub_fd));
	link = open_link(&p);
	ck_assert(!can_write(p.at.tx_fd));
	fd = ctl_meet(p.client, 0, p.at.slot, &epoch);
	ck_assert_int_ge(fd, 0);
	ck_assert(!can_write(fd));
	close(fd);
	link_close(link);
}
END_TEST

START_TEST(only_slots_with_processes_have_rings)
{
	uint32_t epoch;

	ck_assert_int_eq(ctl_meet(p.client, 0, 7, &epoch), -ENOENT);
	ck_assert_int_eq(ctl_meet(p.client, 0, 8, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_meet(p.client, 0, UINT32_MAX, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_meet(p.client, 1, 0, &epoch), -ENODEV);
}
END_TEST

/* A doorbell is the slot's: each process that has the slot has it, also after others exited. */
START_TEST(slots_with_doorbells_go_round)
{
	int type;
	socklen_t len;

	for (int i = 0; i < 10; i++) {
		program_close(&p);
		program_open(&p);
		len = sizeof(type);
		ck_assert_int_eq(getsockopt(p.at.rx_fd, SOL_SOCKET, SO_TYPE, &type, &len), 0);
		ck_assert_int_eq(type, SOCK_DGRAM);
	}
}
END_TEST

static void start_udp(void)
{
	fixture_setup();
	program_open(&p);
}

START_TEST(sockets_have_no_rings)
{
	uint32_t epoch;

	ck_assert_int_eq(p.at.hub_fd, -1);
	ck_assert_int_eq(ctl_meet(p.client, 0, p.at.slot, &epoch), -EINVAL);
}
END_TEST

int main(void)
{
	TCase *memory = tcase_create("memory"), *udp = tcase_create("udp");

	tcase_add_checked_fixture(memory, start_memory, stop);
	tcase_add_test(memory, rings_of_others_are_read_only);
	tcase_add_test(memory, own_rings_are_sealed_once_mapped);
	tcase_add_test(memory, only_slots_with_processes_have_rings);
	tcase_add_test(memory, slots_with_doorbells_go_round);
	tcase_add_checked_fixture(udp, start_udp, stop);
	tcase_add_test(udp, sockets_have_no_rings);
	return fixture_main("server_memory", (TCase *[]){ memory, udp, NULL });
}
