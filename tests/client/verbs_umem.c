// SPDX-License-Identifier: MIT
/* Umems: registered, shared, and reached by RDMA through keys made by command.
 * mlx5dv_devx_umem_reg(3), mlx5dv_devx_umem_export(3). In an instance that was not started for it
 * everything refuses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/mlx5/newer.h"
#include "rules.h"

#define PAGE   4096u
#define RIGHTS ((uint32_t)FIXTURE_ALL_RIGHTS)

/* CREATE_MKEY, 272 bytes: the fields that a program sets, by their bits. */
struct command {
	uint8_t bytes[272];
};

static void put(struct command *cmd, unsigned int at, unsigned int bits, uint64_t value)
{
	for (unsigned int i = 0; i < bits; i++) {
		uint8_t bit = (uint8_t)(0x80 >> ((at + i) % 8));

		cmd->bytes[(at + i) / 8] &= (uint8_t)~bit;
		if (value >> (bits - 1 - i) & 1)
			cmd->bytes[(at + i) / 8] |= bit;
	}
}

struct key {
	struct mlx5dv_devx_obj *obj;
	uint32_t key;
};

static struct command make_command(struct ibv_pd *pd, const struct mlx5dv_devx_umem *umem,
				   uint64_t offset, uint64_t start, uint64_t len)
{
	struct mlx5dv_pd number = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &number } };
	struct command cmd = { 0 };

	ck_assert_int_eq(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	put(&cmd, 0, 16, 0x200);
	put(&cmd, 0x61, 1, 1);
	put(&cmd, 0x80 + 0x11, 5, 0x1f); /* atomic, remote and local rights */
	put(&cmd, 0x80 + 0x16, 2, 1);
	put(&cmd, 0x80 + 0x20, 24, 0xffffff);
	put(&cmd, 0x80 + 0x38, 8, 0x5a);
	put(&cmd, 0x80 + 0x68, 24, number.pdn);
	put(&cmd, 0x80 + 0x80, 64, start);
	put(&cmd, 0x80 + 0xc0, 64, len);
	put(&cmd, 0x320, 32, umem->umem_id);
	put(&cmd, 0x340, 64, offset);
	return cmd;
}

static struct key make_key(struct ibv_pd *pd, const struct mlx5dv_devx_umem *umem, uint64_t offset,
			   uint64_t start, uint64_t len)
{
	struct command cmd = make_command(pd, umem, offset, start, len);
	uint8_t out[16] = { 0 };
	struct key key;

	key.obj =
		mlx5dv_devx_obj_create(pd->context, cmd.bytes, sizeof(cmd.bytes), out, sizeof(out));
	ck_assert_msg(key.obj != NULL, "%s", strerror(errno));
	ck_assert_uint_eq(out[0], 0);
	key.key = (uint32_t)out[9] << 24 | (uint32_t)out[10] << 16 | (uint32_t)out[11] << 8 | 0x5a;
	return key;
}

static void expect_refused(struct ibv_context *context, const struct command *cmd, int err)
{
	uint8_t out[16] = { 0 };

	errno = 0;
	ck_assert_ptr_null(
		mlx5dv_devx_obj_create(context, cmd->bytes, sizeof(cmd->bytes), out, sizeof(out)));
	ck_assert_int_eq(errno, err);
	ck_assert_uint_ne(out[0], 0);
}

/* Write to it, read it back, add to its first word. */
static void reach(struct end *from, uint32_t key, uint64_t addr, uint8_t *memory, uint32_t len)
{
	from->peer.rkey = key;
	from->peer.addr = addr;
	fill(from->memory, len, 9);
	end_post(from, IBV_WR_RDMA_WRITE, 1, 0, len);
	end_wait_for(from, 1, IBV_WC_SUCCESS);
	if (memory)
		expect_filled(memory, len, 9);
	memset(from->memory, 0, len);
	end_post(from, IBV_WR_RDMA_READ, 2, 0, len);
	end_wait_for(from, 2, IBV_WC_SUCCESS);
	expect_filled(from->memory, len, 9);
	end_post(from, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 0, 8);
	end_wait_for(from, 3, IBV_WC_SUCCESS);
	expect_filled(from->memory, 8, 9);
}

START_TEST(reached_by_rdma)
{
	uint8_t *memory = aligned_alloc(PAGE, 4 * PAGE);
	struct mlx5dv_devx_umem *umem;
	struct end a, b;
	struct key key;

	memset(memory, 0, 4 * PAGE);
	ends_open(&a, &b, NULL);
	umem = mlx5dv_devx_umem_reg(b.context, memory, 4 * PAGE, RIGHTS);
	ck_assert_ptr_nonnull(umem);
	key = make_key(b.pd, umem, PAGE, 0x770000, 2 * PAGE);
	ck_assert_uint_eq(key.key & 0xff, 0x5a);
	reach(&a, key.key, 0x770000, memory + PAGE, 2 * PAGE);
	expect_zero(memory, PAGE);
	expect_zero(memory + 3 * PAGE, PAGE);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), EBUSY);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key.obj), 0);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key.obj), EINVAL);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), EINVAL);
	end_post(&a, IBV_WR_RDMA_WRITE, 4, 0, 8);
	end_wait_for(&a, 4, IBV_WC_REM_ACCESS_ERR);
	free(memory);
	ends_close(&a, &b);
}
END_TEST

START_TEST(by_descriptor)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = (void *)(uintptr_t)PAGE,
		.size = 2 * PAGE,
		.access = RIGHTS,
		.pgsz_bitmap = PAGE,
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = memfd_create("umem", MFD_CLOEXEC),
	};
	struct mlx5dv_devx_umem *umem;
	struct end a, b;
	struct key key;
	uint8_t *bytes;

	ck_assert_int_eq(ftruncate(in.dmabuf_fd, 4 * PAGE), 0);
	bytes = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, in.dmabuf_fd, 0);
	ends_open(&a, &b, NULL);
	umem = mlx5dv_devx_umem_reg_ex(b.context, &in);
	ck_assert_ptr_nonnull(umem);
	key = make_key(b.pd, umem, 0, 0, 2 * PAGE);
	reach(&a, key.key, 0, bytes + PAGE, 2 * PAGE);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key.obj), 0);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	close(in.dmabuf_fd);
	ends_close(&a, &b);
}
END_TEST

static void expect_no_umem(struct ibv_context *context, struct mlx5dv_devx_umem_in in, int err)
{
	errno = 0;
	ck_assert_ptr_null(mlx5dv_devx_umem_reg_ex(context, &in));
	ck_assert_int_eq(errno, err);
}

START_TEST(what_reg_refuses)
{
	struct ibv_context *context = fixture_open();
	uint8_t *memory = aligned_alloc(PAGE, PAGE);
	const struct mlx5dv_devx_umem_in good = {
		.addr = memory, .size = PAGE, .access = RIGHTS, .pgsz_bitmap = UINT64_MAX
	};
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_umem_in in = good;

	umem = mlx5dv_devx_umem_reg_ex(context, &in);
	ck_assert_ptr_nonnull(umem);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	in.pgsz_bitmap = 2 * PAGE;
	expect_no_umem(context, in, EINVAL);
	in.pgsz_bitmap = 0;
	expect_no_umem(context, in, EINVAL);
	in = good;
	in.comp_mask = 2;
	expect_no_umem(context, in, EOPNOTSUPP);
	in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
	in.dmabuf_fd = -1;
	expect_no_umem(context, in, EBADF);
	in = good;
	in.access = IBV_ACCESS_REMOTE_WRITE;
	expect_no_umem(context, in, EINVAL);
	in = good;
	in.size = 0;
	expect_no_umem(context, in, EINVAL);
	in = good;
	in.addr = (void *)(uintptr_t)PAGE;
	expect_no_umem(context, in, EFAULT);
	umem = mlx5dv_devx_umem_reg(context, memory, PAGE, 0);
	ck_assert_ptr_nonnull(umem);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	free(memory);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(what_commands_refuse)
{
	struct ibv_context *context = fixture_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	uint8_t *memory = aligned_alloc(PAGE, PAGE);
	struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_reg(context, memory, PAGE, 0);
	struct command cmd = make_command(pd, umem, 0, 0, PAGE);

	expect_refused(context, &cmd, EINVAL); /* the umem is not to be written */
	put(&cmd, 0x80 + 0x11, 5, 0x05);
	put(&cmd, 0x340, 64, 1); /* beyond its end */
	expect_refused(context, &cmd, EINVAL);
	cmd = make_command(pd, umem, 0, 0, PAGE);
	put(&cmd, 0x320, 32, umem->umem_id + 1);
	expect_refused(context, &cmd, EINVAL);
	cmd = make_command(pd, umem, 0, 0, PAGE);
	put(&cmd, 0x80 + 0x11, 5, 0x05);
	put(&cmd, 0x80 + 0x68, 24, 0xfffffe); /* no such domain */
	expect_refused(context, &cmd, EINVAL);
	cmd = make_command(pd, umem, 0, 0, PAGE);
	put(&cmd, 0x80 + 0x16, 2, 2); /* a list of others */
	expect_refused(context, &cmd, EOPNOTSUPP);
	put(&cmd, 0, 16, 0x500); /* CREATE_QP */
	expect_refused(context, &cmd, EOPNOTSUPP);
	put(&cmd, 0, 16, 0x200);
	errno = 0;
	ck_assert_ptr_null(mlx5dv_devx_obj_create(context, cmd.bytes, 271, memory, 16));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	free(memory);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

/* What the owner of a umem reports to the process that will serve it. */
struct letter {
	uint32_t pd;
	uint8_t umem[64];
};

static void own(int sock)
{
	struct mlx5dv_export_sizes sizes;
	struct ibv_context *context = fixture_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	uint8_t *memory = aligned_alloc(PAGE, 2 * PAGE);
	struct letter letter = { .pd = pd->handle };
	struct mlx5dv_devx_umem *umem;

	memset(memory, 0, 2 * PAGE);
	mlx5dv_get_export_sizes(&sizes);
	ck_assert_uint_gt(sizes.devx_umem_attrs_size, 0);
	ck_assert_uint_le(sizes.devx_umem_attrs_size, sizeof(letter.umem));
	umem = mlx5dv_devx_umem_reg(context, memory, 2 * PAGE, RIGHTS);
	ck_assert_ptr_nonnull(umem);
	ck_assert_int_eq(mlx5dv_devx_umem_export(umem, letter.umem), 0);
	give_fd(sock, context->cmd_fd);
	ck_assert_int_eq(send(sock, &letter, sizeof(letter), 0), sizeof(letter));
	meet(sock); /* it has been reached */
	memory[0] = (uint8_t)(memory[0] - 1);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), EBUSY);
	meet(sock); /* that was seen: the key may go */
	meet(sock); /* it is gone */
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	ck_assert_ptr_null(mlx5dv_devx_umem_import(context, letter.umem));
	meet(sock);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
	free(memory);
}

START_TEST(shared_between_processes)
{
	struct mlx5dv_devx_umem *umem, *again;
	struct letter letter;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct key key;
	pid_t pid;
	int sock = beside(own, &pid), fd = take_fd(sock);

	ck_assert_int_eq(recv(sock, &letter, sizeof(letter), MSG_WAITALL), sizeof(letter));
	context = ibv_import_device(fd);
	ck_assert_ptr_nonnull(context);
	close(fd);
	pd = ibv_import_pd(context, letter.pd);
	ck_assert_ptr_nonnull(pd);
	umem = mlx5dv_devx_umem_import(context, letter.umem);
	again = mlx5dv_devx_umem_import(context, letter.umem);
	ck_assert_ptr_nonnull(umem);
	ck_assert_ptr_nonnull(again);
	mlx5dv_devx_umem_unimport(again); /* of no consequence for the other */
	key = make_key(pd, umem, 0, 0, 2 * PAGE);
	meet(sock);
	meet(sock);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key.obj), 0);
	meet(sock);
	meet(sock);
	mlx5dv_devx_umem_unimport(umem);
	ibv_unimport_pd(pd);
	letter.umem[0] ^= 1;
	ck_assert_ptr_null(mlx5dv_devx_umem_import(context, letter.umem));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_close_device(context), 0);
	join(pid, sock);
}
END_TEST

START_TEST(opened_for_devx)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *context;

	ck_assert(mlx5dv_is_supported(list[0]));
	context = mlx5dv_open_device(list[0], &attr);
	ck_assert_ptr_nonnull(context);
	ck_assert_int_eq(ibv_close_device(context), 0);
	attr.comp_mask = 1;
	ck_assert_ptr_null(mlx5dv_open_device(list[0], &attr));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	attr = (struct mlx5dv_context_attr){ .flags = 2 };
	ck_assert_ptr_null(mlx5dv_open_device(list[0], &attr));
	ck_assert_int_eq(errno, EINVAL);
	ibv_free_device_list(list);
}
END_TEST

/* mlx5's own calls too fail on a device that has died. */
START_TEST(device_dies)
{
	uint8_t *memory = aligned_alloc(PAGE, PAGE);
	struct mlx5dv_devx_umem *umem;
	struct command cmd;
	struct end a, b;
	struct key key;

	ends_open(&a, &b, NULL);
	umem = mlx5dv_devx_umem_reg(b.context, memory, PAGE, RIGHTS);
	ck_assert_ptr_nonnull(umem);
	cmd = make_command(b.pd, umem, 0, 0, PAGE);
	key = make_key(b.pd, umem, 0, 0, PAGE);
	fault("add device_fatal");
	expect_event(b.context, IBV_EVENT_DEVICE_FATAL);
	expect_refused(b.context, &cmd, EIO);
	errno = 0;
	ck_assert_ptr_null(mlx5dv_devx_umem_reg(b.context, memory, PAGE, RIGHTS));
	ck_assert_int_eq(errno, EIO);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key.obj), EIO);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), EIO);
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	ck_assert_int_eq(mlx5dv_devx_obj_destroy(key.obj), 0);
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
	ends_close(&a, &b);
	unsetenv("RDMAV_ALLOW_DISASSOC_DESTROY");
	fault("clear");
	free(memory);
}
END_TEST

START_TEST(not_taken_for_mlx5)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *context = fixture_open();
	uint8_t bytes[64];

	ck_assert(!mlx5dv_is_supported(context->device));
	ck_assert_ptr_null(mlx5dv_open_device(context->device, &attr));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	errno = 0;
	ck_assert_ptr_null(mlx5dv_devx_umem_reg(context, bytes, sizeof(bytes), 0));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

static void add(TCase *tests)
{
	const char *mlx5 = getenv("RXE_DM_MLX5");

	if (!mlx5 || strcmp(mlx5, "on") != 0) {
		tcase_add_test(tests, not_taken_for_mlx5);
		return;
	}
	tcase_add_test(tests, opened_for_devx);
	tcase_add_test(tests, reached_by_rdma);
	tcase_add_test(tests, by_descriptor);
	tcase_add_test(tests, what_reg_refuses);
	tcase_add_test(tests, what_commands_refuse);
	tcase_add_test(tests, shared_between_processes);
	tcase_add_test(tests, device_dies);
}

int main(void)
{
	return fixture_main("verbs_umem", add);
}
