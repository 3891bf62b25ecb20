// SPDX-License-Identifier: MIT
/* An echo over a connection that librdmacm makes: addresses and ports as with sockets, messages as
 * with verbs. In one terminal `rdma_echo serve ADDRESS PORT`, in another `rdma_echo ask ADDRESS
 * PORT TEXT...`. The calls wait for what they begin. */
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 256

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

/* A listener (RAI_PASSIVE), or an id with a route to the address and a queue pair. */
static struct rdma_cm_id *open_endpoint(const char *address, const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, port, &hints, &info))
		die(address);
	if (rdma_create_ep(&id, info, NULL, &attr))
		die("rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

static struct ibv_mr *register_messages(struct rdma_cm_id *id, char *bytes, size_t len)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, bytes, len);

	if (!mr)
		die("rdma_reg_msgs");
	return mr;
}

static void post_receive(struct rdma_cm_id *id, char *bytes, struct ibv_mr *mr)
{
	if (rdma_post_recv(id, NULL, bytes, MESSAGE_BYTES, mr))
		die("rdma_post_recv");
}

/* The length of the next message; 0: it is empty, or the connection has failed. */
static uint32_t receive(struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	if (rdma_get_recv_comp(id, &wc) != 1)
		die("rdma_get_recv_comp");
	return wc.status == IBV_WC_SUCCESS ? wc.byte_len : 0;
}

/* False: the connection has failed. */
static bool send_message(struct rdma_cm_id *id, char *bytes, size_t len, struct ibv_mr *mr)
{
	struct ibv_wc wc;

	if (rdma_post_send(id, NULL, bytes, len, mr, 0))
		die("rdma_post_send");
	if (rdma_get_send_comp(id, &wc) != 1)
		die("rdma_get_send_comp");
	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "send: %s\n", ibv_wc_status_str(wc.status));
	return wc.status == IBV_WC_SUCCESS;
}

/* Answers each message, until an empty one comes or the connection fails: the next client is not
 * concerned. */
static void answer(struct rdma_cm_id *id)
{
	static char bytes[2][MESSAGE_BYTES]; /* received, sent */
	struct ibv_mr *mr = register_messages(id, bytes[0], sizeof(bytes));
	char name[NI_MAXHOST] = "unknown address";
	uint32_t len;

	post_receive(id, bytes[0], mr);
	if (rdma_accept(id, NULL))
		die("rdma_accept");
	(void)getnameinfo(rdma_get_peer_addr(id), sizeof(struct sockaddr_storage), name,
			  sizeof(name), NULL, 0, NI_NUMERICHOST);
	printf("connected: %s port %u\n", name, ntohs(rdma_get_dst_port(id)));
	while ((len = receive(id)) > 0) {
		memcpy(bytes[1], bytes[0], len);
		post_receive(id, bytes[0], mr);
		if (!send_message(id, bytes[1], len, mr))
			break;
	}
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	printf("disconnected\n");
	fflush(stdout);
}

static void serve(const char *address, const char *port)
{
	struct rdma_cm_id *listener = open_endpoint(address, port, RAI_PASSIVE), *id;

	if (rdma_listen(listener, 4))
		die("rdma_listen");
	printf("listening on port %u of %s\n", ntohs(rdma_get_src_port(listener)),
	       listener->verbs->device->name);
	fflush(stdout);
	while (!rdma_get_request(listener, &id))
		answer(id);
	die("rdma_get_request");
}

static void ask(const char *address, const char *port, char **texts)
{
	static char bytes[2][MESSAGE_BYTES];
	struct rdma_cm_id *id = open_endpoint(address, port, 0);
	struct ibv_mr *mr = register_messages(id, bytes[0], sizeof(bytes));

	post_receive(id, bytes[0], mr);
	if (rdma_connect(id, NULL))
		die("rdma_connect");
	for (; *texts; texts++) {
		snprintf(bytes[1], MESSAGE_BYTES, "%s", *texts);
		if (!send_message(id, bytes[1], strlen(bytes[1]) + 1, mr))
			exit(EXIT_FAILURE);
		if (!receive(id))
			break;
		printf("echo: %s\n", bytes[0]);
		post_receive(id, bytes[0], mr);
	}
	/* The server disconnects when it has this message: its acknowledgment may be lost. */
	(void)send_message(id, bytes[1], 0, mr);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "serve"))
		serve(argv[2], argv[3]);
	else if (argc > 4 && !strcmp(argv[1], "ask"))
		ask(argv[2], argv[3], argv + 4);
	else
		fprintf(stderr, "usage: rdma_echo serve ADDRESS PORT | rdma_echo ask ADDRESS PORT "
				"TEXT...\n");
	return argc > 4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
