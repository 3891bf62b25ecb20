// SPDX-License-Identifier: MIT
/* Times what a program asks the device server for: opening the device (the list, the connection,
 * the context), then registering and deregistering a page, again and again. Prints microseconds:
 * the open, then one number for each registration, on one line.
 *
 * usage: rxe_dm run -- open_time [REGISTRATIONS] */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char page[4096];

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	if (!list || !list[0])
		die("no device");
	context = ibv_open_device(list[0]);
	if (!context)
		die("ibv_open_device");
	ibv_free_device_list(list);
	return context;
}

static void register_once(struct ibv_pd *pd)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);

	if (!mr || ibv_dereg_mr(mr))
		die("ibv_reg_mr, ibv_dereg_mr");
}

int main(int argc, char **argv)
{
	const int registrations = argc > 1 ? atoi(argv[1]) : 1;
	double began_us = now_us();
	struct ibv_context *context = open_first();
	struct ibv_pd *pd;

	printf("%.0f", now_us() - began_us);
	pd = ibv_alloc_pd(context);
	if (!pd)
		die("ibv_alloc_pd");
	for (int i = 0; i < registrations; i++) {
		began_us = now_us();
		register_once(pd);
		printf(" %.0f", now_us() - began_us);
	}
	printf("\n");
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return 0;
}
