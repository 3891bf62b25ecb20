// SPDX-License-Identifier: MIT
/* One server and many clients, each a process of its own that sends a request, waits for the
 * answer, and sends the next: over TCP, or over RC queue pairs that librdmacm connects.
 *
 *     request_answer tcp|poll|event ADDRESS PORT CLIENTS REQUESTS
 *
 * tcp: the clients sleep in recv(), the server in epoll_wait(). poll: all spin on ibv_poll_cq().
 * event: all sleep in ibv_get_cq_event(). A request and an answer are 64 bytes. Output: the seconds
 * until all clients are connected, and those until the last answer is sent. The clients live on
 * until then, and die with the server. */
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BYTES	    64
#define MAX_CLIENTS 256

static bool sleeps;
static const char *address, *port;
static int clients, requests;
static double connected_s;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

_Noreturn static void fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

/* TCP */

static void receive(int fd)
{
	char buf[BYTES];

	if (recv(fd, buf, sizeof(buf), MSG_WAITALL) != BYTES)
		fail("recv");
}

static void transmit(int fd)
{
	static const char buf[BYTES];

	if (send(fd, buf, sizeof(buf), 0) != BYTES)
		fail("send");
}

static void no_delay(int fd)
{
	const int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
		fail("setsockopt");
}

static struct addrinfo *tcp_address(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ret;

	if (getaddrinfo(address, port, &hints, &ret) != 0)
		fail("getaddrinfo");
	return ret;
}

static int tcp_listen(void)
{
	const struct addrinfo *at = tcp_address();
	const int fd = socket(at->ai_family, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, MAX_CLIENTS) != 0)
		fail("listen");
	return fd;
}

static void tcp_request(void)
{
	const struct addrinfo *at = tcp_address();
	const int fd = socket(at->ai_family, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen) != 0)
		fail("connect");
	no_delay(fd);
	for (int i = 0; i < requests; i++) {
		transmit(fd);
		receive(fd);
	}
}

static void tcp_accept(int listener, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN };

	event.data.fd = accept(listener, NULL, NULL);
	if (event.data.fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event) != 0)
		fail("accept");
	no_delay(event.data.fd);
}

static void tcp_answer(int listener)
{
	int64_t answers = (int64_t)clients * requests;
	struct epoll_event events[MAX_CLIENTS];
	const int epoll = epoll_create1(0);

	for (int i = 0; i < clients; i++)
		tcp_accept(listener, epoll);
	connected_s = now_s();
	while (answers > 0) {
		const int n = epoll_wait(epoll, events, MAX_CLIENTS, -1);

		for (int i = 0; i < n; i++) {
			receive(events[i].data.fd);
			transmit(events[i].data.fd);
		}
		answers -= n > 0 ? n : 0;
	}
}

/* RC */

struct end {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

static char buffers[2 * MAX_CLIENTS][BYTES];

static void create_cq(struct end *end)
{
	struct ibv_comp_channel *channel = NULL;

	if (sleeps)
		channel = ibv_create_comp_channel(end->id->verbs);
	end->cq = ibv_create_cq(end->id->verbs, 4 * MAX_CLIENTS, NULL, channel, 0);
	if (!end->cq || (sleeps && (!channel || ibv_req_notify_cq(end->cq, 0) != 0)))
		fail("ibv_create_cq");
	end->mr = ibv_reg_mr(end->id->pd, buffers, sizeof(buffers), IBV_ACCESS_LOCAL_WRITE);
	if (!end->mr)
		fail("ibv_reg_mr");
}

static void create_qp(const struct end *end, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 2, 2, 1, 1, BYTES } };

	if (rdma_create_qp(id, id->pd, &init))
		fail("rdma_create_qp");
}

static void post_recv(const struct end *end, struct rdma_cm_id *id, char *into)
{
	if (rdma_post_recv(id, id, into, BYTES, end->mr))
		fail("rdma_post_recv");
}

static void post_send(struct rdma_cm_id *id, char *from)
{
	if (rdma_post_send(id, id, from, BYTES, NULL, IBV_SEND_INLINE | IBV_SEND_SIGNALED))
		fail("rdma_post_send");
}

static void sleep_for_event(const struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(end->cq->channel, &cq, &context))
		fail("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		fail("ibv_req_notify_cq");
}

static int poll_cq(const struct end *end, struct ibv_wc *wcs, int max)
{
	int n = ibv_poll_cq(end->cq, max, wcs);

	while (n == 0) {
		if (sleeps)
			sleep_for_event(end);
		n = ibv_poll_cq(end->cq, max, wcs);
	}
	for (int i = 0; i < n; i++) {
		if (wcs[i].status != IBV_WC_SUCCESS) {
			(void)fprintf(stderr, "%s\n", ibv_wc_status_str(wcs[i].status));
			exit(EXIT_FAILURE);
		}
	}
	if (n < 0)
		fail("ibv_poll_cq");
	return n;
}

static struct rdma_addrinfo *rdma_address(int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *ret;

	if (rdma_getaddrinfo(address, port, &hints, &ret))
		fail("rdma_getaddrinfo");
	return ret;
}

static struct rdma_cm_id *rdma_listener(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_ep(&id, rdma_address(RAI_PASSIVE), NULL, NULL) ||
	    rdma_listen(id, MAX_CLIENTS))
		fail("rdma_listen");
	return id;
}

static void rdma_request(void)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct end end;

	if (rdma_create_ep(&end.id, rdma_address(0), NULL, NULL))
		fail("rdma_create_ep");
	create_cq(&end);
	create_qp(&end, end.id);
	if (rdma_connect(end.id, &param))
		fail("rdma_connect");
	for (int i = 0; i < requests; i++) {
		struct ibv_wc wcs[2];

		post_recv(&end, end.id, buffers[0]);
		post_send(end.id, buffers[1]);
		/* The answer, and the send. */
		for (int n = 0; n < 2;)
			n += poll_cq(&end, wcs, 2 - n);
	}
}

static void rdma_accept_one(const struct end *end, char *into)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id;

	if (rdma_get_request(end->id, &id))
		fail("rdma_get_request");
	id->context = into;
	create_qp(end, id);
	post_recv(end, id, into);
	if (rdma_accept(id, &param))
		fail("rdma_accept");
}

static void answer_one(const struct end *end, const struct ibv_wc *wc)
{
	struct rdma_cm_id *id = (struct rdma_cm_id *)(uintptr_t)wc->wr_id;

	post_recv(end, id, id->context);
	post_send(id, id->context);
}

static void rdma_answer(struct rdma_cm_id *listener)
{
	int64_t answers = (int64_t)clients * requests, sends = answers;
	struct end end = { .id = listener };

	create_cq(&end);
	for (int i = 0; i < clients; i++)
		rdma_accept_one(&end, buffers[i]);
	connected_s = now_s();
	while (answers > 0 || sends > 0) {
		struct ibv_wc wcs[2 * MAX_CLIENTS];
		const int n = poll_cq(&end, wcs, 2 * MAX_CLIENTS);

		for (int i = 0; i < n; i++) {
			if (wcs[i].opcode == IBV_WC_SEND) {
				sends--;
				continue;
			}
			answers--;
			answer_one(&end, &wcs[i]);
		}
	}
}

/* Both */

static void a_client_ended(int signal)
{
	static const char text[] = "a client ended\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_FAILURE);
}

/* gate: reads the end of file when the server listens. */
_Noreturn static void be_client(int gate, void (*request)(void))
{
	char none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(gate, &none, 1) != 0)
		fail("read");
	request();
	for (;;)
		pause();
}

/* Before the server opens the device, so that no client has a copy of it. Returns the end of a pipe
 * that lets them begin when it is closed. */
static int fork_clients(void (*request)(void))
{
	int gate[2];

	if (pipe(gate) != 0)
		fail("pipe");
	for (int i = 0; i < clients; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			close(gate[1]);
			be_client(gate[0], request);
		}
	}
	return gate[1];
}

static double answer_tcp(int gate)
{
	const int listener = tcp_listen();
	const double began_s = now_s();

	close(gate);
	tcp_answer(listener);
	return began_s;
}

static double answer_rdma(int gate)
{
	struct rdma_cm_id *listener = rdma_listener();
	const double began_s = now_s();

	close(gate);
	rdma_answer(listener);
	return began_s;
}

int main(int argc, char **argv)
{
	const bool tcp = argc == 6 && strcmp(argv[1], "tcp") == 0;
	double began_s;
	int gate;

	sleeps = argc > 1 && strcmp(argv[1], "event") == 0;
	if (argc != 6 || (!tcp && !sleeps && strcmp(argv[1], "poll") != 0) || atoi(argv[4]) < 1 ||
	    atoi(argv[4]) > MAX_CLIENTS) {
		(void)fprintf(stderr, "usage: request_answer tcp|poll|event ADDRESS PORT CLIENTS "
				      "REQUESTS\n");
		return EXIT_FAILURE;
	}
	address = argv[2];
	port = argv[3];
	clients = atoi(argv[4]);
	requests = atoi(argv[5]);
	(void)signal(SIGCHLD, a_client_ended);
	gate = fork_clients(tcp ? tcp_request : rdma_request);
	began_s = tcp ? answer_tcp(gate) : answer_rdma(gate);
	printf("connected_s=%.3f\nseconds=%.3f\n", connected_s - began_s, now_s() - began_s);
	return EXIT_SUCCESS;
}
