// SPDX-License-Identifier: MIT
/* Devices that servers publish: this process stands for a server, with shared memory of its own,
 * and for the program that looks for a peer there. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/published.h"
#include "lib/control/shared.h"
#include "tests/suite.h"

#define SLOT  5u
#define QPN   (SLOT << RXE_SLOT_SHIFT | 0x1234)
#define DEST  0x030777u
#define EPOCH 9u

static const struct gid here = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 } };
static const struct gid there = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 10 } };
static char folder[64];
static struct ctl_shared *shared;
static struct ctl_published_peer peer;
static int fd;

static void setup(void)
{
	fd = memfd_create("published", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, sizeof(*shared)), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	shared->gids[0] = here;
	shared->slot[SLOT].qp[QPN % RXE_MAX_QP].dest_qpn = DEST;
	atomic_store(&shared->slot[SLOT].qp[QPN % RXE_MAX_QP].qpn, QPN);
	atomic_store(&shared->slot[SLOT].epoch, EPOCH);
	strcpy(shared->slot[SLOT].comm, "peer");
	ctl_slot_set_pid(shared, SLOT, getpid());

	snprintf(folder, sizeof(folder), "/tmp/rxe_dm-published-%d", (int)getpid());
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(setenv("RXE_DM_LAB_FOLDER", folder, 1), 0);
	ctl_published_init();
	ctl_publish("lab.b", &here, fd);
}

/* The path of one link, the number of which is returned. */
static int links(char ret[static PATH_MAX])
{
	const struct dirent *entry;
	DIR *dir = opendir(folder);
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(ret, PATH_MAX, "%s/%s", folder, entry->d_name);
		n++;
	}
	closedir(dir);
	return n;
}

static void teardown(void)
{
	char path[PATH_MAX];

	while (links(path))
		ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	munmap(shared, sizeof(*shared));
	close(fd);
}

static bool finds(void)
{
	return ctl_published_find(&here, QPN, DEST, &peer);
}

START_TEST(process_of_a_queue_pair)
{
	ck_assert(finds());
	ck_assert_int_eq(peer.pid, getpid());
	ck_assert_uint_eq(peer.epoch, EPOCH);
	ck_assert_str_eq(peer.comm, "peer");
	ck_assert_str_eq(peer.instance, "lab.b");
}
END_TEST

START_TEST(other_address)
{
	ck_assert(!ctl_published_find(&there, QPN, DEST, &peer));
}
END_TEST

/* A link that claims another device's address. */
START_TEST(address_of_another_device)
{
	ctl_publish("lab.c", &there, fd);
	ck_assert(!ctl_published_find(&there, QPN, DEST, &peer));
}
END_TEST

START_TEST(queue_pair_that_is_not_there)
{
	ck_assert(!ctl_published_find(&here, QPN + 1, DEST, &peer));
	ck_assert(!ctl_published_find(&here, QPN + RXE_MAX_QP, DEST, &peer));
	ck_assert(!ctl_published_find(&here, RXE_MAX_SLOTS << RXE_SLOT_SHIFT | QPN, DEST, &peer));
}
END_TEST

/* In another network, a device has the same address. */
START_TEST(connected_to_another)
{
	ck_assert(!ctl_published_find(&here, QPN, DEST + 1, &peer));
}
END_TEST

START_TEST(process_has_exited)
{
	ctl_slot_set_pid(shared, SLOT, 0);
	ck_assert(!finds());
}
END_TEST

START_TEST(no_longer_published)
{
	char path[PATH_MAX];

	ctl_unpublish("lab.b", &here);
	ck_assert(!finds());
	ck_assert_int_eq(links(path), 0);
}
END_TEST

START_TEST(second_instance)
{
	ctl_publish("lab.a", &there, fd);
	ck_assert(finds());
	ck_assert_str_eq(peer.instance, "lab.b");
}
END_TEST

/* Not the shared memory of a server: the descriptor has another size, or lacks the seals. */
START_TEST(other_memory)
{
	const int other = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(other, 0);
	ck_assert_int_eq(ftruncate(other, sizeof(*shared)), 0);
	ck_assert_int_eq(pwrite(other, &here, sizeof(here), offsetof(struct ctl_shared, gids)),
			 sizeof(here));
	ck_assert_int_eq(pwrite(other, &shared->slot[SLOT],
				CTL_SHARED_PAGE + sizeof(shared->slot[SLOT].qp),
				offsetof(struct ctl_shared, slot[SLOT])),
			 CTL_SHARED_PAGE + sizeof(shared->slot[SLOT].qp));
	ctl_publish("lab.b", &here, other);
	ck_assert(!finds());
	ck_assert_int_eq(fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	ck_assert(finds());
	close(other);
}
END_TEST

/* Replaces the target of the link. */
static void lead_to(const char *target)
{
	char path[PATH_MAX];

	ck_assert_int_eq(links(path), 1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink(target, path), 0);
}

START_TEST(link_to_elsewhere)
{
	char target[64];

	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	lead_to(target);
	ck_assert(!finds());
	snprintf(target, sizeof(target), "/proc/%d/fd/%d/.", (int)getpid(), fd);
	lead_to(target);
	ck_assert(!finds());
}
END_TEST

START_TEST(link_of_another_user)
{
	char path[PATH_MAX];

	ck_assert_int_eq(links(path), 1);
	if (lchown(path, 65534, 65534))
		return; /* only root can make one */
	ck_assert(!finds());
}
END_TEST

/* A server that was killed: the next one removes its link. */
START_TEST(killed_server)
{
	char path[PATH_MAX];
	const pid_t child = fork();
	int status = 1;

	if (child == 0) {
		ctl_publish("killed", &there, fd);
		_exit(links(path) == 2 ? 0 : 1);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(links(path), 2);
	ctl_publish("lab.b", &here, fd);
	ck_assert_int_eq(links(path), 1);
	ck_assert(finds());
}
END_TEST

START_TEST(a_process_is_stopped)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		for (;;)
			pause();
	ck_assert_int_gt(child, 0);
	ctl_slot_set_pid(shared, SLOT + 1, child);
	ck_assert(!ctl_published_has_stopped(&here));
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(ctl_published_has_stopped(&here));
	ck_assert(!ctl_published_has_stopped(&there));
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(!ctl_published_has_stopped(&here));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { process_of_a_queue_pair,
				       other_address,
				       address_of_another_device,
				       queue_pair_that_is_not_there,
				       connected_to_another,
				       process_has_exited,
				       no_longer_published,
				       second_instance,
				       other_memory,
				       link_to_elsewhere,
				       link_of_another_user,
				       killed_server,
				       a_process_is_stopped };
	Suite *suite = suite_create("published");
	TCase *tcase = tcase_create("find");

	tcase_add_checked_fixture(tcase, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
