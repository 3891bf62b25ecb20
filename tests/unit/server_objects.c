// SPDX-License-Identifier: MIT
/* A program and its objects, with a real server: grants and refusals, with the errno of each. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/socket.h"
#include "lib/findings/record.h"
#include "server_fixture.h"

#define ARENA (64ull << 20)

static struct program p;
static uint8_t buffer[8192];

static void setup(void)
{
	fixture_setup();
	program_open(&p);
}

static void teardown(void)
{
	fixture_teardown();
}

START_TEST(a_device_is_there)
{
	struct ctl_device device[2];
	size_t n = 0;

	ck_assert_int_eq(ctl_list_devices(p.client, device, 2, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(device[0].name, "rxe_dm0");
	ck_assert(gid_is_v4(&device[0].gids[0]));
	ck_assert_uint_eq(device[0].gids[0].raw[12], 127);
	ck_assert_str_eq(device[0].if_name, "lo");
	ck_assert_uint_eq(device[0].max_mtu, 4096);
	ck_assert_uint_ge(device[0].rcvbuf, 4096); /* more than one packet */
	ck_assert_uint_eq(device[0].arena_bytes, ARENA);
	ck_assert_uint_ne(device[0].node_guid, 0);
	ck_assert_uint_ne(device[0].sys_image_guid, 0);
	ck_assert(device[0].trains && !device[0].mlx5);
	ck_assert_uint_eq(p.at.shared->port_state, 4);
	ck_assert_int_eq(p.at.shared->slot[p.at.slot].pid, getpid());
	ck_assert_uint_gt(p.at.slot, 0);
}
END_TEST

START_TEST(attaching_again_is_the_same)
{
	struct ctl_attachment again;

	ck_assert_int_eq(ctl_attach(p.client, 0, &again), 0);
	ck_assert_int_eq(memcmp(&again, &p.at, sizeof(again)), 0);
	ctl_detach(p.client, 0, &again);
	ck_assert_int_eq(p.at.shared->slot[p.at.slot].pid, getpid());
	ck_assert_int_eq(ctl_attach(p.client, 1, &again), -ENODEV);
	ck_assert_int_eq(ctl_attach(p.client, 999, &again), -ENODEV);
	program_close(&p);
}
END_TEST

START_TEST(the_tables_are_not_ours_to_write)
{
	signal(SIGSEGV, SIG_DFL);			       /* not a sanitizer's */
	atomic_store(&p.at.shared->slot[p.at.slot].inside, 0); /* the program's own slot is valid */
	atomic_store(&p.at.shared->live[1], 0);
}
END_TEST

START_TEST(a_region_is_published)
{
	uint32_t key, mr = program_reg(&p, buffer, 100, &key);
	const struct rxe_mr *entry = &p.at.shared->mrs.entry[rxe_key_index(key)];

	ck_assert_uint_eq(entry->key, key);
	ck_assert_uint_eq(entry->addr, (uintptr_t)buffer);
	ck_assert_uint_eq(entry->len, 100);
	ck_assert_uint_eq(entry->pd, p.pd);
	ck_assert_uint_eq(entry->kind, RXE_MR_PLAIN);
	ck_assert_uint_eq(entry->owner, p.at.slot);
	ck_assert_uint_eq(entry->epoch, p.at.shared->slot[p.at.slot].epoch);
	ck_assert(ctl_handle_live(p.at.shared, mr));

	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, p.pd), -EBUSY);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_uint_eq(entry->key, 0);
	ck_assert(!ctl_handle_live(p.at.shared, mr));
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), -EINVAL);
	program_close(&p);
}
END_TEST

START_TEST(a_region_registered_again)
{
	struct ctl_reg_mr reg = { .kind = RXE_MR_PLAIN, .addr = 0x1000, .iova = 0x1000, .len = 7 };
	uint32_t key, new_key, other_pd, mr = program_reg(&p, buffer, 100, &key);

	ck_assert_int_eq(ctl_alloc_pd(&p.context, &other_pd), 0);
	reg.pd = other_pd + 1000;
	ck_assert_int_eq(ctl_rereg_mr(&p.context, mr, &reg, &new_key), -EINVAL);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].key, key); /* unchanged */

	reg.pd = other_pd;
	ck_assert_int_eq(ctl_rereg_mr(&p.context, mr, &reg, &new_key), 0);
	ck_assert_uint_eq(key, new_key); /* peers continue to use the known key */
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].key, key);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].len, 7);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, other_pd), -EBUSY);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, other_pd), 0);
	program_close(&p);
}
END_TEST

START_TEST(bad_regions)
{
	struct ctl_reg_mr good = { .pd = p.pd, .kind = RXE_MR_PLAIN, .addr = 0x1000, .len = 16 };
	struct ctl_reg_mr bad[9];
	uint32_t handle, key;

	for (size_t i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].pd = 0;
	bad[1].pd = p.context.handle; /* a handle, but not of a PD */
	bad[2].kind = 0;
	bad[3].kind = 99;
	bad[4].addr = UINT64_MAX - 4;
	bad[5].iova = UINT64_MAX - 4;
	bad[6].len = UINT64_MAX;
	bad[7].kind = RXE_MR_ARENA; /* without a DM */
	bad[8].dmah = 12345;
	for (size_t i = 0; i < 9; i++)
		ck_assert_msg(ctl_reg_mr(&p.context, &bad[i], &handle, &key) == -EINVAL, "case %zu",
			      i);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_MR), 0);
	program_close(&p);
}
END_TEST

/* The whole address space, in this one form. */
START_TEST(implicit_on_demand_region)
{
	struct ctl_reg_mr good = { .pd = p.pd,
				   .kind = RXE_MR_PLAIN,
				   .len = UINT64_MAX,
				   .rights = RXE_LOCAL_WRITE | RXE_ON_DEMAND };
	struct ctl_reg_mr bad[5];
	uint32_t handle, key;

	for (size_t i = 0; i < 5; i++)
		bad[i] = good;
	bad[0].rights = RXE_LOCAL_WRITE;
	bad[1].len = UINT64_MAX - 1;
	bad[2].addr = 1;
	bad[3].iova = 1;
	bad[4].kind = RXE_MR_ARENA;
	for (size_t i = 0; i < 5; i++)
		ck_assert_msg(ctl_reg_mr(&p.context, &bad[i], &handle, &key) == -EINVAL, "case %zu",
			      i);
	ck_assert_int_eq(ctl_reg_mr(&p.context, &good, &handle, &key), 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].len, UINT64_MAX);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, handle), 0);
	program_close(&p);
}
END_TEST

static void bind_by_hand(struct program *program, uint32_t index, uint32_t key, uint32_t region)
{
	struct rxe_mw *mw = &program->at.shared->slot[program->at.slot].mws.mw[index];

	mw->region = region;
	atomic_store(&mw->state, key);
}

/* The server gives a window its place and its key; what the process writes there keeps the region
 * from being freed, if both are of one domain. */
START_TEST(windows)
{
	uint32_t mw, key, index, again, other_key, other_index, mr, region;

	ck_assert_int_eq(ctl_alloc_mw(&p.context, p.pd, RXE_MR_PLAIN, &mw, &key, &index), -EINVAL);
	ck_assert_int_eq(ctl_alloc_mw(&p.context, p.pd + 1, RXE_MR_WINDOW_1, &mw, &key, &index),
			 -EINVAL);
	ck_assert_int_eq(ctl_alloc_mw(&p.context, p.pd, RXE_MR_WINDOW_2, &mw, &key, &index), 0);
	ck_assert_uint_eq(key & RXE_MW_TAG, 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].kind, RXE_MR_WINDOW_2);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].owner, p.at.slot);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].addr, index);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, p.pd), -EBUSY);
	ck_assert_int_eq(
		ctl_alloc_mw(&p.context, p.pd, RXE_MR_WINDOW_1, &again, &other_key, &other_index),
		0);
	ck_assert_uint_ne(index, other_index);
	mr = program_reg(&p, buffer, sizeof(buffer), &region);
	bind_by_hand(&p, index, key | 7, region);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), -EBUSY);
	bind_by_hand(&p, index, other_key | 7, region); /* a window that was there before */
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MW, mw), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MW, mw), -EINVAL);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].key, 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MW, again), 0);
	program_close(&p);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_MW), 0);
}
END_TEST

/* A freed window gives back its place in the process's table, its domain, and its key. */
START_TEST(a_freed_window_leaves_nothing)
{
	uint32_t mw, key, index, first;

	ck_assert_int_eq(ctl_alloc_mw(&p.context, p.pd, RXE_MR_WINDOW_1, &mw, &key, &first), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MW, mw), 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].key, 0);
	ck_assert_int_eq(ctl_alloc_mw(&p.context, p.pd, RXE_MR_WINDOW_2, &mw, &key, &index), 0);
	ck_assert_uint_eq(index, first);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MW, mw), 0);
	program_close(&p); /* the domain is free */
	fixture_await_objects(CTL_KIND_CONTEXT, 0);
}
END_TEST

/* A process announces targets of its own numbers, and opens those of its domain. */
START_TEST(targets)
{
	const uint32_t own = p.at.slot << RXE_SLOT_SHIFT | 2,
		       foreign = own + (1u << RXE_SLOT_SHIFT);
	uint32_t xrcd, other, domain, handle, again, epoch, left = 99;

	ck_assert_int_eq(ctl_open_xrcd(&p.context, -1, CTL_XRCD_CREATE, &xrcd, &domain), 0);
	ck_assert_int_eq(ctl_open_xrcd(&p.context, -1, CTL_XRCD_CREATE, &other, &domain), 0);
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, own, false, &handle, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, p.pd, own, true, &handle, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, 0, true, &handle, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, foreign, true, &handle, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, ~0u, true, &handle, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, own, true, &handle, &epoch), 0);
	ck_assert_uint_eq(epoch, atomic_load(&p.at.shared->slot[p.at.slot].epoch));
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, own, true, &again, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, other, own, false, &again, &epoch), -EINVAL);
	ck_assert_int_eq(ctl_open_qp(&p.context, xrcd, own, false, &again, &epoch), 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_QP), 2);
	ck_assert_int_eq(ctl_close_qp(&p.context, handle, &left), 0);
	ck_assert_uint_eq(left, 1);
	ck_assert_int_eq(ctl_close_qp(&p.context, handle, &left), -EINVAL);
	ck_assert_int_eq(ctl_close_qp(&p.context, again, &left), 0);
	ck_assert_uint_eq(left, 0);
	program_close(&p);
}
END_TEST

/* Opens the domain of a file. Returns the domain's number. */
static uint32_t domain_of(const char *path, struct stat *ret)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t xrcd, domain;

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(fstat(fd, ret), 0);
	ck_assert_int_eq(ctl_open_xrcd(&p.context, fd, CTL_XRCD_CREATE, &xrcd, &domain), 0);
	close(fd);
	return domain;
}

/* The roots of these file systems have one inode number, on two devices. */
START_TEST(domains_of_equal_inode_numbers)
{
	struct stat proc, shm, again;
	const uint32_t of_proc = domain_of("/proc", &proc), of_shm = domain_of("/dev/shm", &shm);

	ck_assert_uint_eq(proc.st_ino, shm.st_ino);
	ck_assert_uint_ne(proc.st_dev, shm.st_dev);
	ck_assert_uint_ne(of_proc, of_shm);
	ck_assert_uint_eq(of_proc, domain_of("/proc", &again));
	ck_assert_uint_eq(of_shm, domain_of("/dev/shm", &again));
	program_close(&p);
}
END_TEST

START_TEST(device_memory)
{
	uint32_t dm, mr;
	uint64_t offset;

	ck_assert_int_eq(ctl_alloc_dm(&p.context, 5000, 0, &dm, &offset), 0);
	memset(p.at.arena + offset, 0xee, 5000);
	mr = program_reg_dm(&p, dm, 100, 4900);
	program_reg_dm(&p, dm, 5000, 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), -EBUSY);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), -EBUSY); /* one remains */
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr + 1), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), -EINVAL);

	/* The next owner finds zeros. */
	ck_assert_int_eq(ctl_alloc_dm(&p.context, 8192, 0, &dm, &offset), 0);
	for (uint64_t i = 0; i < 8192; i++)
		ck_assert_uint_eq(p.at.arena[offset + i], 0);
	program_close(&p);
}
END_TEST

/* The whole arena is written and freed. What is granted of it then, at lengths beside the server's
 * steps, is zero. */
START_TEST(device_memory_is_zero_to_its_end)
{
	static const uint64_t lengths[] = { 1, (1 << 20) + 1, (3 << 20) - 1, (7 << 20) + 4095,
					    20 << 20 };
	uint64_t offset, len;
	uint32_t dm;

	ck_assert_int_eq(ctl_alloc_dm(&p.context, ARENA, 0, &dm, &offset), 0);
	memset(p.at.arena + offset, 0xee, ARENA);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const uint8_t *bytes;

		len = lengths[i];
		ck_assert_int_eq(ctl_alloc_dm(&p.context, len, 0, &dm, &offset), 0);
		bytes = p.at.arena + offset;
		ck_assert_uint_eq(bytes[0], 0);
		ck_assert_msg(memcmp(bytes, bytes + 1, len - 1) == 0, "length %llu",
			      (unsigned long long)len);
	}
	program_close(&p);
}
END_TEST

START_TEST(device_memory_bounds)
{
	struct ctl_reg_mr reg = { .pd = p.pd, .kind = RXE_MR_ARENA };
	uint32_t dm, other, handle, key;
	uint64_t offset;

	ck_assert_int_eq(ctl_alloc_dm(&p.context, ARENA + 1, 0, &dm, &offset), -ENOMEM);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, UINT64_MAX, 0, &dm, &offset), -ENOMEM);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, 0, 0, &dm, &offset), -EINVAL);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, 1, 64, &dm, &offset), -EINVAL);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, ARENA, 0, &dm, &offset), 0);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, 1, 0, &other, &offset), -ENOMEM);

	reg.dm = dm;
	for (int i = 0; i < 4; i++) {
		static const uint64_t addr[] = { ARENA, 0, ARENA + 1, UINT64_MAX };
		static const uint64_t len[] = { 1, ARENA + 1, 0, 2 };

		reg.addr = addr[i];
		reg.len = len[i];
		ck_assert_int_eq(ctl_reg_mr(&p.context, &reg, &handle, &key), -EINVAL);
	}
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), 0);
	for (uint32_t log_align = 0; log_align <= 24; log_align++) {
		ck_assert_int_eq(ctl_alloc_dm(&p.context, 100, log_align, &dm, &offset), 0);
		ck_assert_uint_eq(offset & ((1ull << log_align) - 1), 0);
	}
	program_close(&p);
}
END_TEST

START_TEST(pds_know_their_users)
{
	ck_assert_int_eq(ctl_use_pd(&p.context, p.pd, 2), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, p.pd), -EBUSY);
	ck_assert_int_eq(ctl_use_pd(&p.context, p.pd, -3), -EINVAL);
	ck_assert_int_eq(ctl_use_pd(&p.context, p.pd, -2), 0);
	ck_assert_int_eq(ctl_use_pd(&p.context, p.pd + 1, 1), -EINVAL);
	program_close(&p);
}
END_TEST

static int start_capture(struct ctl_client *client)
{
	struct ctl_call call = {
		.req = { .op = CTL_CAPTURE, .capture = { .ring_bytes = 1 << 20, .keep = 64 } },
		.in_fd = -1,
	};

	ck_assert_int_eq(ctl_do(client, &call, 1), 0);
	return call.fds[0];
}

static bool has_event(int timeout_ms)
{
	struct pollfd fd = { .fd = p.at.event_fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

/* Reads one event, with a descriptor if captures are under way. */
static void expect_captures(bool run)
{
	struct ctl_event event = { 0 };
	size_t num_fds = 0;
	int fd = -1;

	ck_assert(has_event(WAIT_MS));
	ck_assert_int_eq(ctl_recv(p.at.event_fd, &event, sizeof(event), &fd, 1, &num_fds, 0),
			 sizeof(event));
	ck_assert_uint_eq(event.type, CTL_EVENT_CAPTURE);
	ck_assert_uint_eq(num_fds, run);
	if (run)
		close(fd);
}

/* A program that only asks about the device is not woken. */
START_TEST(captures_are_for_those_that_join)
{
	struct ctl_client *other;
	int rings;

	ck_assert_int_eq(ctl_connect(&other), 0);
	ck_assert_int_eq(ctl_join_captures(other, 0), -EINVAL); /* has no slot */
	rings = start_capture(other);
	ck_assert(!has_event(0));
	ck_assert_int_eq(ctl_join_captures(p.client, 0), 0);
	expect_captures(true);
	close(rings);
	ctl_disconnect(other);
	expect_captures(false);
	ck_assert_int_eq(ctl_join_captures(p.client, 0), 0);
	ck_assert(!has_event(0));
	ck_assert_int_eq(ctl_connect(&other), 0);
	rings = start_capture(other);
	expect_captures(true);
	close(rings);
	ctl_disconnect(other);
	program_close(&p);
}
END_TEST

START_TEST(contexts_are_apart)
{
	struct ctl_context other, wrong;
	uint32_t pd, handle, key;
	struct ctl_reg_mr reg = { .pd = p.pd, .kind = RXE_MR_PLAIN, .addr = 0x1000, .len = 16 };

	ck_assert_int_eq(ctl_open(p.client, 0, &other), 0);
	ck_assert_int_eq(ctl_open(p.client, 7, &wrong), -ENODEV);
	ck_assert_int_eq(ctl_alloc_pd(&other, &pd), 0);
	ck_assert_int_eq(ctl_free(&other, CTL_KIND_PD, p.pd), -EINVAL);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, pd), -EINVAL);
	ck_assert_int_eq(ctl_reg_mr(&other, &reg, &handle, &key), -EINVAL);
	wrong = other;
	wrong.handle = p.pd; /* not a context at all */
	ck_assert_int_eq(ctl_alloc_pd(&wrong, &pd), -EBADF);
	wrong = other;
	ck_assert_int_eq(ctl_close(&other), 0);
	ck_assert_int_eq(ctl_alloc_pd(&wrong, &pd), -EBADF);
	ck_assert_int_eq(ctl_close(&wrong), -EBADF);
	program_close(&p);
}
END_TEST

START_TEST(closing_frees_what_was_left)
{
	uint32_t dm, key;
	uint64_t offset;

	program_reg(&p, buffer, 100, &key);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, 100, 0, &dm, &offset), 0);
	program_reg_dm(&p, dm, 0, 100);
	ck_assert_int_eq(ctl_use_pd(&p.context, p.pd, 1), 0);
	ck_assert_int_eq(ctl_close(&p.context), 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].key, 0);
	fixture_await_objects(CTL_KIND_CONTEXT, 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_PD), 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_MR), 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_DM), 0);
}
END_TEST

START_TEST(hints)
{
	struct ctl_dmah dmah = { .valid = CTL_DMAH_CPU_ID, .cpu_id = 3 },
			bad = { .valid = 1u << 9 };
	struct ctl_reg_mr reg = { .pd = p.pd, .kind = RXE_MR_PLAIN, .addr = 0x1000, .len = 16 };
	uint32_t handle, mr, key;
	struct ctl_object seen;

	ck_assert_int_eq(ctl_alloc_dmah(&p.context, &bad, &handle), -EINVAL);
	ck_assert_int_eq(ctl_alloc_dmah(&p.context, &dmah, &handle), 0);
	reg.dmah = handle;
	ck_assert_int_eq(ctl_reg_mr(&p.context, &reg, &mr, &key), 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].dmah, handle);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DMAH, handle), -EBUSY);
	ck_assert_int_eq(ctl_query(&p.context, CTL_KIND_DMAH, handle, &seen), 0);
	ck_assert_uint_eq(seen.hints.cpu_id, 3);
	ck_assert_int_eq(ctl_query(&p.context, CTL_KIND_DM, handle, &seen), -ENOENT);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DMAH, handle), 0);
	program_close(&p);
}
END_TEST

START_TEST(umems)
{
	struct ctl_reg_mr plain = { .addr = (uintptr_t)buffer,
				    .len = sizeof(buffer),
				    .rights = RXE_LOCAL_WRITE | RXE_REMOTE_READ };
	struct ctl_reg_mr reg = { .pd = p.pd, .addr = 16, .len = 16 };
	uint32_t umem, mr, key;
	struct ctl_object seen;

	ck_assert_int_eq(ctl_reg_umem(&p.context, &plain, &umem), 0);
	ck_assert_int_eq(ctl_query(&p.context, CTL_KIND_UMEM, umem, &seen), 0);
	ck_assert_uint_eq(seen.rights, RXE_LOCAL_WRITE | RXE_REMOTE_READ);
	reg.umem = umem;
	ck_assert_int_eq(ctl_reg_mr(&p.context, &reg, &mr, &key), 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].addr, (uintptr_t)buffer + 16);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].owner, p.at.slot);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_UMEM, umem), -EBUSY);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	reg.addr = sizeof(buffer);
	ck_assert_int_eq(ctl_reg_mr(&p.context, &reg, &mr, &key), -EINVAL);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_UMEM, umem), 0);
}
END_TEST

/* Gives the server a memfd of this length as findings. */
static int keep_findings(size_t len, unsigned int seals)
{
	const int fd = memfd_create("findings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	ck_assert_int_eq(ftruncate(fd, (off_t)len), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	rc = ctl_keep_findings(p.client, fd);
	close(fd);
	return rc;
}

static uint32_t kept_findings(void)
{
	struct ctl_call call = { .req = { .op = CTL_FINDINGS, .handle = UINT32_MAX }, .in_fd = -1 };

	ck_assert_int_eq(ctl_do(p.client, &call, 0), 0);
	return call.reply.findings.count;
}

/* A command maps the findings of other programs: no program can make that raise SIGBUS. */
START_TEST(findings_of_a_sealed_length)
{
	ck_assert_int_eq(keep_findings(sizeof(struct findings), F_SEAL_GROW), -EINVAL);
	ck_assert_int_eq(keep_findings(sizeof(struct findings) - 1, F_SEAL_SHRINK), -EINVAL);
	ck_assert_uint_eq(kept_findings(), 0);
	ck_assert_int_eq(keep_findings(sizeof(struct findings), F_SEAL_SHRINK), 0);
	ck_assert_uint_eq(kept_findings(), 1);
	program_close(&p);
}
END_TEST

static void *hammer(void *arg)
{
	intptr_t *failures = (intptr_t *)arg;

	for (int i = 0; i < 500; i++) {
		uint32_t pd, dm;
		uint64_t offset;

		*failures += ctl_alloc_pd(&p.context, &pd) != 0;
		*failures += ctl_alloc_dm(&p.context, 100, 0, &dm, &offset) != 0;
		*failures += ctl_free(&p.context, CTL_KIND_DM, dm) != 0;
		*failures += ctl_free(&p.context, CTL_KIND_PD, pd) != 0;
	}
	return NULL;
}

START_TEST(threads)
{
	pthread_t thread[4];
	intptr_t failures[4] = { 0 };

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, hammer, &failures[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		ck_assert_int_eq(failures[i], 0);
	}
	ck_assert_uint_eq(fixture_objects(CTL_KIND_PD), 1);
	program_close(&p);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_device_is_there);
	tcase_add_test(tcase, attaching_again_is_the_same);
	tcase_add_test_raise_signal(tcase, the_tables_are_not_ours_to_write, SIGSEGV);
	tcase_add_test(tcase, a_region_is_published);
	tcase_add_test(tcase, a_region_registered_again);
	tcase_add_test(tcase, bad_regions);
	tcase_add_test(tcase, implicit_on_demand_region);
	tcase_add_test(tcase, windows);
	tcase_add_test(tcase, a_freed_window_leaves_nothing);
	tcase_add_test(tcase, targets);
	tcase_add_test(tcase, domains_of_equal_inode_numbers);
	tcase_add_test(tcase, device_memory);
	tcase_add_test(tcase, device_memory_is_zero_to_its_end);
	tcase_add_test(tcase, device_memory_bounds);
	tcase_add_test(tcase, pds_know_their_users);
	tcase_add_test(tcase, captures_are_for_those_that_join);
	tcase_add_test(tcase, contexts_are_apart);
	tcase_add_test(tcase, closing_frees_what_was_left);
	tcase_add_test(tcase, hints);
	tcase_add_test(tcase, umems);
	tcase_add_test(tcase, findings_of_a_sealed_length);
	tcase_add_test(tcase, threads);
	return fixture_main("server_objects", (TCase *[]){ tcase, NULL });
}
