// SPDX-License-Identifier: MIT
/* A umem shared between processes, by libmlx5's calls: the first registers memory and exports it;
 * the second imports it, makes a memory key over it by command, and lets a queue pair read the
 * first one's memory by that key. Needs an instance that was started with --mlx5 on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rc.h"

#include <rxe_dm/newer.h>

#define START 0x10000u /* the addresses that the key is to have */

struct letter {
	uint32_t pd;
	uint8_t umem[64];
};

static void put(uint8_t *command, unsigned int bit, unsigned int bits, uint64_t value)
{
	while (bits--) {
		if (value >> bits & 1)
			command[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		bit++;
	}
}

/* CREATE_MKEY: a plain translation of the whole umem, to be read from afar, for every queue
 * pair. */
static struct mlx5dv_devx_obj *make_key(struct ibv_pd *pd, const struct mlx5dv_devx_umem *umem,
					uint64_t len, uint32_t *ret_key)
{
	uint8_t in[272] = { 0 }, out[16] = { 0 };
	struct mlx5dv_pd number;
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &number } };
	struct mlx5dv_devx_obj *key;

	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD))
		die("mlx5dv_init_obj");
	put(in, 0, 16, 0x200);		      /* opcode */
	put(in, 0x61, 1, 1);		      /* mkey_umem_valid */
	put(in, 0x80 + 0x13, 1, 1);	      /* rr */
	put(in, 0x80 + 0x15, 1, 1);	      /* lr */
	put(in, 0x80 + 0x16, 2, 1);	      /* access_mode_1_0: MTT */
	put(in, 0x80 + 0x20, 24, 0xffffff);   /* qpn: any */
	put(in, 0x80 + 0x68, 24, number.pdn); /* pd */
	put(in, 0x80 + 0x80, 64, START);      /* start_addr */
	put(in, 0x80 + 0xc0, 64, len);	      /* len */
	put(in, 0x320, 32, umem->umem_id);    /* mkey_umem_id */
	key = mlx5dv_devx_obj_create(pd->context, in, sizeof(in), out, sizeof(out));
	if (!key)
		die("mlx5dv_devx_obj_create");
	*ret_key = (uint32_t)out[9] << 24 | (uint32_t)out[10] << 16 | (uint32_t)out[11] << 8;
	return key;
}

static void second(int sock)
{
	static char found[64];
	struct letter letter;
	struct ibv_context *context;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_obj *key;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ };
	struct rc rc;
	int fd = rc_take_fd(sock);

	rc_hear(sock, &letter, sizeof(letter));
	context = ibv_import_device(fd);
	if (!context)
		die("ibv_import_device");
	close(fd);
	pd = ibv_import_pd(context, letter.pd);
	umem = mlx5dv_devx_umem_import(context, letter.umem);
	if (!pd || !umem)
		die("importing");
	key = make_key(pd, umem, sizeof(found), &wr.wr.rdma.rkey);
	printf("second: umem %u imported, key 0x%08x made over it\n", umem->umem_id,
	       wr.wr.rdma.rkey);
	mr = ibv_reg_mr(pd, found, sizeof(found), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("ibv_reg_mr");
	sge = (struct ibv_sge){ (uintptr_t)found, sizeof(found), mr->lkey };
	wr.wr.rdma.remote_addr = START;
	rc_open(&rc, pd);
	rc_connect_to_itself(&rc);
	rc_run(&rc, &wr);
	printf("second: read by RDMA: \"%s\"\n", found);
	rc_close(&rc);
	if (strcmp(found, "memory of the first process"))
		exit(EXIT_FAILURE);
	ibv_dereg_mr(mr);
	if (mlx5dv_devx_obj_destroy(key))
		die("mlx5dv_devx_obj_destroy");
	mlx5dv_devx_umem_unimport(umem);
	ibv_unimport_pd(pd);
	rc_meet(sock);
	ibv_close_device(context);
}

int main(void)
{
	static char memory[64] = "memory of the first process";
	int sock = rc_beside(second);
	struct ibv_context *context = rc_open_device();
	struct mlx5dv_export_sizes sizes;
	struct mlx5dv_devx_umem *umem;
	struct letter letter;
	struct ibv_pd *pd;

	if (!mlx5dv_is_supported(context->device)) {
		fprintf(stderr, "the instance was not started with --mlx5 on\n");
		return EXIT_FAILURE;
	}
	pd = ibv_alloc_pd(context);
	umem = mlx5dv_devx_umem_reg(context, memory, sizeof(memory), IBV_ACCESS_REMOTE_READ);
	if (!pd || !umem)
		die("mlx5dv_devx_umem_reg");
	mlx5dv_get_export_sizes(&sizes);
	if (sizes.devx_umem_attrs_size > sizeof(letter.umem) ||
	    mlx5dv_devx_umem_export(umem, letter.umem))
		die("mlx5dv_devx_umem_export");
	printf("first: umem %u registered, exported in %u bytes\n", umem->umem_id,
	       sizes.devx_umem_attrs_size);
	fflush(stdout);
	letter.pd = pd->handle;
	rc_give_fd(sock, context->cmd_fd);
	rc_tell(sock, &letter, sizeof(letter));
	rc_meet(sock);
	rc_join(sock);
	if (mlx5dv_devx_umem_dereg(umem) || ibv_dealloc_pd(pd))
		die("destroying");
	ibv_close_device(context);
	return EXIT_SUCCESS;
}
