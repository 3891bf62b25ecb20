// SPDX-License-Identifier: MIT
/* A DMA handle: hints about a region's memory, given when it is registered. While this waits,
 * `rxe_dm show` lists the handle with its hints; with an argument, a command to run then, it runs
 * that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rc.h"

#include <rxe_dm/newer.h>

int main(int argc, char **argv)
{
	static char memory[4096];
	struct ibv_context *context = rc_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_dmah_init_attr hints = {
		.comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH |
			     IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE,
		.cpu_id = 0,
		.ph = 2,
		.tph_mem_type = IBV_TPH_MEM_TYPE_VM,
	};
	struct ibv_dmah *dmah = ibv_alloc_dmah(context, &hints);
	struct ibv_mr_init_attr attr = {
		.length = sizeof(memory),
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
		.addr = memory,
		.dmah = dmah,
	};
	struct ibv_mr *mr;

	if (!dmah)
		die("ibv_alloc_dmah");
	mr = ibv_reg_mr_ex(pd, &attr);
	if (!mr)
		die("ibv_reg_mr_ex");
	printf("a region of %zu bytes with hints: CPU %u, PH %u, volatile memory\n", mr->length,
	       hints.cpu_id, hints.ph);
	fflush(stdout);
	if (argc > 1 && system(argv[1]) != 0)
		die(argv[1]);
	printf("while it lives, ibv_dealloc_dmah says: %s\n", strerror(ibv_dealloc_dmah(dmah)));
	if (ibv_dereg_mr(mr) || ibv_dealloc_dmah(dmah))
		die("destroying");
	printf("after it: gone\n");
	hints.ph = 4;
	dmah = ibv_alloc_dmah(context, &hints);
	printf("a hint that does not exist (PH 4): %s\n", dmah ? "taken" : "refused");
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return dmah ? EXIT_FAILURE : EXIT_SUCCESS;
}
