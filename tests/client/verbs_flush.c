// SPDX-License-Identifier: MIT
/* FLUSH and ATOMIC WRITE: what a FLUSH covers is visible, and in the file where that was asked for;
 * what the peer does not permit is refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/abi/newer.h"
#include "pages.h"

#define OPS	  (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define BOTH	  (IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#define WRITES	  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define ALL_TYPES (IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT)

static const struct end_cfg cfg = { .send_ops = OPS, .remote_rights = FIXTURE_ALL_RIGHTS | BOTH };

/* Memory of the responder that the requester writes to. */
struct target {
	int fd;
	uint8_t *bytes;
	struct ibv_mr *mr;
};

static int file_in(const char *folder)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/rxe_dm_flush_XXXXXX", folder);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, BYTES), 0);
	return fd;
}

static void *map(int fd)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

static void path_of(int fd, char *path, size_t room)
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, room - 1);
	ck_assert_int_gt(n, 0);
	path[n] = '\0';
}

static void remove_file(int fd)
{
	char path[256];

	path_of(fd, path, sizeof(path));
	ck_assert_int_eq(unlink(path), 0);
	close(fd);
}

static struct target target_open(struct end *b, struct end *a, const char *folder,
				 unsigned int access)
{
	struct target target = { .fd = file_in(folder) };

	target.bytes = pages_place();
	pages_map_file(target.bytes, target.fd);
	target.mr = ibv_reg_mr(b->pd, target.bytes, BYTES, access);
	ck_assert_ptr_nonnull(target.mr);
	a->peer.rkey = target.mr->rkey;
	a->peer.addr = (uintptr_t)target.bytes;
	return target;
}

static void target_close(struct target *target)
{
	ck_assert_int_eq(ibv_dereg_mr(target->mr), 0);
	pages_unmap(target->bytes);
	remove_file(target->fd);
}

static struct ibv_qp_ex *begin(struct end *end, uint64_t wr_id)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(end->qp);

	ck_assert_ptr_nonnull(ex);
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

/* Posts one FLUSH of the peer's memory. */
static int flush(struct end *end, uint64_t wr_id, uint64_t at, size_t len, uint8_t type,
		 uint8_t level)
{
	struct ibv_qp_ex *ex = begin(end, wr_id);

	ibv_wr_flush(ex, end->peer.rkey, end->peer.addr + at, len, type, level);
	return ibv_wr_complete(ex);
}

static int store(struct end *end, uint64_t wr_id, uint64_t at, uint64_t value)
{
	struct ibv_qp_ex *ex = begin(end, wr_id);

	ibv_wr_atomic_write(ex, end->peer.rkey, end->peer.addr + at, &value);
	return ibv_wr_complete(ex);
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* The log of a data base: data, FLUSH, then the pointer to it, in one batch. */
static void publish(const char *folder)
{
	const uint64_t pointer = 0x1122334455667788;
	struct end a, b;
	struct target target;
	struct ibv_qp_ex *ex;
	uint8_t found[3000];
	struct ibv_wc wc;

	ends_open(&a, &b, &cfg);
	target = target_open(&b, &a, folder, WRITES | BOTH);
	fill(a.memory, 3000, 1);
	ex = begin(&a, 1);
	ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr + 64);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 3000);
	ex->wr_id = 2;
	ibv_wr_flush(ex, a.peer.rkey, a.peer.addr + 64, 3000, ALL_TYPES, IBV_FLUSH_RANGE);
	ex->wr_id = 3;
	ibv_wr_atomic_write(ex, a.peer.rkey, a.peer.addr, &pointer);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	wc = end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IBV_WC_FLUSH);
	ck_assert_int_eq(pread(target.fd, found, 3000, 64), 3000);
	expect_filled(found, 3000, 1);
	wc = end_wait_for(&a, 3, IBV_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IBV_WC_ATOMIC_WRITE);
	ck_assert_uint_eq(word_at(target.bytes), pointer);
	/* The whole region, address and length have no meaning. */
	ck_assert_int_eq(flush(&a, 4, UINT64_MAX, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR), 0);
	end_wait_for(&a, 4, IBV_WC_SUCCESS);
	target_close(&target);
	ends_close(&a, &b);
}

START_TEST(file_on_disk)
{
	publish("/var/tmp");
}
END_TEST

START_TEST(file_in_shared_memory)
{
	publish("/dev/shm");
}
END_TEST

/* More at once than the responder's queue of responses and the thread's of jobs hold. */
START_TEST(many_flushes)
{
	struct end a, b;
	struct target target;

	ends_open(&a, &b, &cfg);
	target = target_open(&b, &a, "/dev/shm", WRITES | BOTH);
	for (uint64_t round = 0; round < 4; round++) {
		for (uint64_t i = 0; i < 60; i++)
			ck_assert_int_eq(flush(&a, i, i * 8, 8,
					       i & 1 ? IBV_FLUSH_PERSISTENT : IBV_FLUSH_GLOBAL,
					       IBV_FLUSH_RANGE),
					 0);
		for (uint64_t i = 0; i < 60; i++)
			end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	target_close(&target);
	ends_close(&a, &b);
}
END_TEST

/* By ibv_post_send(3), inline and from a region. */
START_TEST(atomic_write_the_old_way)
{
	struct end a, b;
	struct ibv_send_wr wr, *bad = NULL;
	struct ibv_sge sge;
	uint64_t value = 77;

	ends_open(&a, &b, &cfg);
	fill(a.memory, 8, 1);
	wr = end_wr(&a, &sge, IBV_WR_ATOMIC_WRITE, 1, 0, 8);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory, 8, 1);
	wr = end_wr(&a, &sge, IBV_WR_ATOMIC_WRITE, 2, 8, 8);
	wr.send_flags |= IBV_SEND_INLINE;
	sge.addr = (uintptr_t)&value;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ck_assert_uint_eq(word_at(b.memory + 8), 77);
	wr = end_wr(&a, &sge, IBV_WR_ATOMIC_WRITE, 3, 0, 7);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	/* The structure has no place for what a FLUSH needs. */
	wr = end_wr(&a, &sge, IBV_WR_FLUSH, 4, 0, 0);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ends_close(&a, &b);
}
END_TEST

START_TEST(device_memory)
{
	const unsigned int rights = WRITES | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_FLUSH_GLOBAL;
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct end a, b;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t found;

	ends_open(&a, &b, &cfg);
	dm = ibv_alloc_dm(b.context, &attr);
	ck_assert_ptr_nonnull(dm);
	errno = 0;
	ck_assert_ptr_null(ibv_reg_dm_mr(b.pd, dm, 0, 4096, rights | IBV_ACCESS_FLUSH_PERSISTENT));
	ck_assert_int_eq(errno, EINVAL);
	mr = ibv_reg_dm_mr(b.pd, dm, 0, 4096, rights);
	ck_assert_ptr_nonnull(mr);
	a.peer.rkey = mr->rkey;
	a.peer.addr = 0;
	ck_assert_int_eq(store(&a, 1, 64, 5), 0);
	ck_assert_int_eq(flush(&a, 2, 64, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_memcpy_from_dm(&found, dm, 64, 8), 0);
	ck_assert_uint_eq(found, 5);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	ends_close(&a, &b);
}
END_TEST

/* A window's flush rights are its own, and at most the region's. */
static struct ibv_mw *open_window(struct end *b, const struct target *target, unsigned int rights,
				  enum ibv_wc_status status)
{
	struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_BIND_MW }, *bad;

	ck_assert_ptr_nonnull(mw);
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ .mr = target->mr,
							  .addr = (uintptr_t)target->bytes + 4096,
							  .length = 4096,
							  .mw_access_flags = rights };
	ck_assert_int_eq(ibv_post_send(b->qp, &wr, &bad), 0);
	end_wait_for(b, 7, status);
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

START_TEST(through_a_window)
{
	const unsigned int rights = IBV_ACCESS_REMOTE_WRITE | BOTH;
	struct target target;
	struct ibv_mw *mw;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	target = target_open(&b, &a, "/tmp", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | BOTH);
	mw = open_window(&b, &target, rights, IBV_WC_SUCCESS);
	a.peer.rkey = mw->rkey;
	ck_assert_int_eq(store(&a, 1, 4096, 5), 0);
	ck_assert_int_eq(flush(&a, 2, 4096, 4096, ALL_TYPES, IBV_FLUSH_RANGE), 0);
	ck_assert_int_eq(flush(&a, 3, 0, 0, ALL_TYPES, IBV_FLUSH_MR), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	ck_assert_uint_eq(word_at(target.bytes + 4096), 5);
	/* Of the region, but not of the window. */
	ck_assert_int_eq(flush(&a, 4, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE), 0);
	end_wait_for(&a, 4, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	target_close(&target);
	ends_close(&a, &b);
}
END_TEST

START_TEST(window_without_the_right)
{
	struct target target;
	struct ibv_mw *mw;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	target =
		target_open(&b, &a, "/dev/shm", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | BOTH);
	mw = open_window(&b, &target, IBV_ACCESS_REMOTE_WRITE, IBV_WC_SUCCESS);
	a.peer.rkey = mw->rkey;
	ck_assert_int_eq(flush(&a, 1, 4096, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE), 0);
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	target_close(&target);
	ends_close(&a, &b);
}
END_TEST

START_TEST(window_wider_than_the_region)
{
	struct target target;
	struct ibv_mw *mw;
	struct end a, b;

	ends_open(&a, &b, &cfg);
	target = target_open(&b, &a, "/dev/shm",
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL);
	mw = open_window(&b, &target, IBV_ACCESS_REMOTE_WRITE | BOTH, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	target_close(&target);
	ends_close(&a, &b);
}
END_TEST

/* What the call itself refuses. */
START_TEST(bad_arguments)
{
	struct end a, b;

	ends_open(&a, &b, &cfg);
	ck_assert_int_eq(flush(&a, 1, 0, 8, 0, IBV_FLUSH_RANGE), EINVAL);
	ck_assert_int_eq(flush(&a, 1, 0, 8, 4, IBV_FLUSH_RANGE), EINVAL);
	ck_assert_int_eq(flush(&a, 1, 0, 8, IBV_FLUSH_GLOBAL, 2), EINVAL);
	ck_assert_int_eq(flush(&a, 1, 0, (1u << 31) + 1ul, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE),
			 EINVAL);
	end_expect_nothing(&a);
	ends_close(&a, &b);
}
END_TEST

static void expect_refused(const struct end_cfg *how, unsigned int access, uint8_t type,
			   uint64_t at, uint32_t len, enum ibv_wc_status status)
{
	struct end a, b;
	struct target target;

	ends_open(&a, &b, how);
	target = target_open(&b, &a, "/dev/shm", access);
	ck_assert_int_eq(flush(&a, 1, at, len, type, IBV_FLUSH_RANGE), 0);
	end_wait_for(&a, 1, status);
	ck_assert_int_eq(end_state(&b), IBV_QPS_ERR);
	target_close(&target);
	ends_close(&a, &b);
}

START_TEST(region_without_the_right)
{
	expect_refused(&cfg, WRITES | IBV_ACCESS_FLUSH_GLOBAL, IBV_FLUSH_PERSISTENT, 0, 8,
		       IBV_WC_REM_ACCESS_ERR);
	expect_refused(&cfg, WRITES, IBV_FLUSH_GLOBAL, 0, 8, IBV_WC_REM_ACCESS_ERR);
}
END_TEST

START_TEST(range_past_the_region)
{
	expect_refused(&cfg, WRITES | BOTH, IBV_FLUSH_GLOBAL, BYTES - 7, 8, IBV_WC_REM_ACCESS_ERR);
}
END_TEST

START_TEST(queue_pair_without_the_right)
{
	struct end_cfg how = cfg;

	how.remote_rights = FIXTURE_ALL_RIGHTS | IBV_ACCESS_FLUSH_GLOBAL;
	expect_refused(&how, WRITES | BOTH, IBV_FLUSH_PERSISTENT, 0, 8, IBV_WC_REM_INV_REQ_ERR);
}
END_TEST

START_TEST(misaligned_atomic_write)
{
	struct end a, b;

	ends_open(&a, &b, &cfg);
	ck_assert_int_eq(store(&a, 1, 4, 1), 0);
	end_wait_for(&a, 1, IBV_WC_REM_INV_REQ_ERR);
	ends_close(&a, &b);
}
END_TEST

static void expect_cannot_persist(struct end *end, void *memory, unsigned int access)
{
	errno = 0;
	ck_assert_ptr_null(ibv_reg_mr(end->pd, memory, BYTES, access));
	ck_assert_int_eq(errno, EINVAL);
}

/* Memory that cannot persist is not registered as if it could. */
START_TEST(memory_that_cannot_persist)
{
	int fd = memfd_create("volatile", 0), file = file_in("/dev/shm");
	uint8_t *anonymous = map(fd), *named = map(file);
	uint8_t *private =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct end a, b;
	struct ibv_mr *mr;

	ck_assert_int_eq(ftruncate(fd, BYTES), 0);
	ends_open(&a, &b, &cfg);
	expect_cannot_persist(&a, a.memory, WRITES | BOTH);
	expect_cannot_persist(&a, private, WRITES | BOTH);
	expect_cannot_persist(&a, anonymous, WRITES | BOTH);
	expect_cannot_persist(&a, named, WRITES | BOTH | IBV_ACCESS_ON_DEMAND);
	mr = ibv_reg_mr(a.pd, named, BYTES, WRITES | BOTH);
	ck_assert_ptr_nonnull(mr);
	ck_assert_int_ne(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, private, BYTES, 0),
			 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	/* A page of another mapping in the middle. */
	ck_assert_ptr_eq(mmap(named + 8192, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 named + 8192);
	expect_cannot_persist(&a, named, WRITES | BOTH);
	munmap(private, BYTES);
	munmap(anonymous, BYTES);
	munmap(named, BYTES);
	remove_file(file);
	close(fd);
	ends_close(&a, &b);
}
END_TEST

/* A region whose memory was unmapped since: msync(2) fails. */
START_TEST(unmapped_since)
{
	struct end a, b;
	struct target target;

	ends_open(&a, &b, &cfg);
	target = target_open(&b, &a, "/dev/shm", WRITES | BOTH);
	ck_assert_int_eq(flush(&a, 1, 0, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	pages_unmap(target.bytes);
	ck_assert_int_eq(flush(&a, 2, 0, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE), 0);
	end_wait_for(&a, 2, IBV_WC_REM_ACCESS_ERR);
	target_close(&target);
	ends_close(&a, &b);
}
END_TEST

START_TEST(capabilities)
{
	const uint64_t all = IB_UVERBS_DEVICE_FLUSH_GLOBAL | IB_UVERBS_DEVICE_FLUSH_PERSISTENT |
			     IB_UVERBS_DEVICE_ATOMIC_WRITE;
	struct ibv_context *context = fixture_open();
	struct ibv_device_attr_ex attr;

	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	ck_assert_uint_eq(attr.device_cap_flags_ex & all, all);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, file_on_disk);
	tcase_add_test(tests, file_in_shared_memory);
	tcase_add_test(tests, many_flushes);
	tcase_add_test(tests, atomic_write_the_old_way);
	tcase_add_test(tests, device_memory);
	tcase_add_test(tests, bad_arguments);
	tcase_add_test(tests, through_a_window);
	tcase_add_test(tests, window_without_the_right);
	tcase_add_test(tests, window_wider_than_the_region);
	tcase_add_test(tests, region_without_the_right);
	tcase_add_test(tests, range_past_the_region);
	tcase_add_test(tests, queue_pair_without_the_right);
	tcase_add_test(tests, misaligned_atomic_write);
	tcase_add_test(tests, memory_that_cannot_persist);
	tcase_add_test(tests, unmapped_since);
	tcase_add_test(tests, capabilities);
}

int main(void)
{
	return fixture_main("verbs_flush", add);
}
