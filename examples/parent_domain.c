// SPDX-License-Identifier: MIT
/* A parent domain: a protection domain together with a thread domain, and with allocators of the
 * program's own. The memory of a completion queue comes from an arena of the program; a queue
 * pair's is left to the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rc.h"

#define ARENA_BYTES (1u << 20)

/* Zeroed, and shared, so that fork() does not copy it: what the manual page asks of an
 * allocator. */
struct arena {
	char *memory;
	size_t used;
	int given, returned;
};

static void *give(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		  uint64_t resource_type)
{
	struct arena *arena = pd_context;
	size_t at = (arena->used + alignment - 1) / alignment * alignment;

	(void)pd;
	printf("asked for %zu bytes, aligned to %zu, of type %u of driver %u: ", size, alignment,
	       (uint32_t)resource_type, (uint32_t)(resource_type >> 32));
	if (size > ARENA_BYTES - at || arena->given == 1) {
		printf("take your own\n");
		return IBV_ALLOCATOR_USE_DEFAULT;
	}
	printf("from the arena at %zu\n", at);
	arena->used = at + size;
	arena->given++;
	return arena->memory + at;
}

static void take_back(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
	struct arena *arena = pd_context;

	(void)pd;
	(void)resource_type;
	printf("given back: what was at %td\n", (char *)ptr - arena->memory);
	arena->returned++;
}

int main(void)
{
	struct arena arena = { 0 };
	struct ibv_context *context = rc_open_device();
	struct ibv_td_init_attr no_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = give,
		.free = take_back,
		.pd_context = &arena,
	};
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 100, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_qp_init_attr qp_attr = {
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_pd *parent;

	arena.memory =
		mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (arena.memory == MAP_FAILED)
		die("mmap");
	attr.pd = ibv_alloc_pd(context);
	attr.td = ibv_alloc_td(context, &no_attr);
	parent = ibv_alloc_parent_domain(context, &attr);
	if (!parent)
		die("ibv_alloc_parent_domain");
	cq_attr.parent_domain = parent;
	cq = ibv_create_cq_ex(context, &cq_attr);
	if (!cq)
		die("ibv_create_cq_ex");
	qp_attr.send_cq = qp_attr.recv_cq = ibv_cq_ex_to_cq(cq);
	qp = ibv_create_qp(parent, &qp_attr);
	if (!qp)
		die("ibv_create_qp");
	printf("while they live: the domain says \"%s\", the thread domain \"%s\"\n",
	       strerror(ibv_dealloc_pd(attr.pd)), strerror(ibv_dealloc_td(attr.td)));
	if (ibv_destroy_qp(qp) || ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) || ibv_dealloc_pd(parent) ||
	    ibv_dealloc_td(attr.td) || ibv_dealloc_pd(attr.pd))
		die("destroying");
	printf("%d given, %d returned\n", arena.given, arena.returned);
	ibv_close_device(context);
	return arena.given == 1 && arena.returned == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
