// SPDX-License-Identifier: MIT
/* Posts to two queue pairs of one thread domain in two threads. */
#include "mistakes.h"
#include "pair.h"

#include <pthread.h>

struct domain {
	struct ibv_td *td;
	struct ibv_pd *pd;
	struct ibv_qp *first, *second;
};

STACKED static struct ibv_qp *opens(struct side *side, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = { .send_cq = side->cq,
					 .recv_cq = side->cq,
					 .cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_UC };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	must(qp != NULL, "create a QP");
	must(ibv_modify_qp(qp, &init,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		     0,
	     "bring a QP to INIT");
	return qp;
}

STACKED static void posts(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;

	must(ibv_post_recv(qp, &wr, &bad) == 0, "post a receive");
}

static void *one_thread(void *arg)
{
	posts(((const struct domain *)arg)->first);
	return arg;
}

static void other_thread(const struct domain *domain)
{
	posts(domain->second);
}

void thread_domain(bool right)
{
	struct side side;
	struct domain domain;
	pthread_t thread;

	side_open(&side, NULL, NULL);
	domain.td = ibv_alloc_td(side.context, &(struct ibv_td_init_attr){ 0 });
	must(domain.td != NULL, "allocate a thread domain");
	domain.pd = ibv_alloc_parent_domain(side.context, &(struct ibv_parent_domain_init_attr){
								  .pd = side.pd, .td = domain.td });
	must(domain.pd != NULL, "allocate a parent domain");
	domain.first = opens(&side, domain.pd);
	domain.second = opens(&side, domain.pd);
	must(pthread_create(&thread, NULL, one_thread, &domain) == 0, "create a thread");
	if (right)
		must(pthread_join(thread, NULL) == 0, "join a thread");
	other_thread(&domain);
	if (!right)
		must(pthread_join(thread, NULL) == 0, "join a thread");
	must(ibv_destroy_qp(domain.first) == 0, "destroy a QP");
	must(ibv_destroy_qp(domain.second) == 0, "destroy a QP");
	must(ibv_dealloc_pd(domain.pd) == 0, "deallocate a parent domain");
	must(ibv_dealloc_td(domain.td) == 0, "deallocate a thread domain");
	side_close(&side);
	must(ibv_close_device(side.context) == 0, "close the device");
}
