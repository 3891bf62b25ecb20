// SPDX-License-Identifier: MIT
/* rsetsockopt, rgetsockopt, rfcntl. Options that sizes depend on count from the next connection
 * on. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/wait.h"

#define MICROSECOND_NS 1000
#define SEGMENT_BYTES  4096 /* TCP_MAXSEG: the largest MTU */

/* How a value is kept. */
enum kind {
	KIND_FLAG,
	KIND_NUMBER,
	KIND_BYTES,   /* doubled, as the kernel does */
	KIND_ENTRIES, /* of a queue */
	KIND_INLINE,
	KIND_IOMAP,   /* rounded as the protocol does */
	KIND_IGNORED, /* taken, and always 1 */
};

struct option {
	int level, name;
	enum kind kind;
	size_t offset; /* into struct rs_options */
};

#define AT(field) offsetof(struct rs_options, field)

/* Whose value is an int. */
static const struct option options[] = {
	{ SOL_SOCKET, SO_REUSEADDR, KIND_FLAG, AT(reuse_addr) },
	{ SOL_SOCKET, SO_KEEPALIVE, KIND_FLAG, AT(keep_alive) },
	{ SOL_SOCKET, SO_OOBINLINE, KIND_FLAG, AT(oob_inline) },
	{ SOL_SOCKET, SO_RCVBUF, KIND_BYTES, AT(recv_bytes) },
	{ SOL_SOCKET, SO_SNDBUF, KIND_BYTES, AT(send_bytes) },
	{ IPPROTO_IP, IP_TOS, KIND_NUMBER, AT(tos) },
	{ IPPROTO_TCP, TCP_NODELAY, KIND_FLAG, AT(no_delay) },
	{ IPPROTO_TCP, TCP_KEEPIDLE, KIND_NUMBER, AT(keep_idle_s) },
	{ IPPROTO_TCP, TCP_KEEPCNT, KIND_IGNORED, 0 },
	{ IPPROTO_TCP, TCP_KEEPINTVL, KIND_IGNORED, 0 },
	{ IPPROTO_IPV6, IPV6_V6ONLY, KIND_FLAG, AT(v6_only) },
	{ SOL_RDMA, RDMA_SQSIZE, KIND_ENTRIES, AT(sends) },
	{ SOL_RDMA, RDMA_RQSIZE, KIND_ENTRIES, AT(recvs) },
	{ SOL_RDMA, RDMA_INLINE, KIND_INLINE, AT(inline_bytes) },
	{ SOL_RDMA, RDMA_IOMAPSIZE, KIND_IOMAP, AT(iomap_size) },
};

static const struct option *find(int level, int name)
{
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].level == level && options[i].name == name)
			return &options[i];
	}
	return NULL;
}

static int *field(struct rsocket *rs, const struct option *option)
{
	return (int *)(void *)((uint8_t *)&rs->options + option->offset);
}

/* Queues and buffers cannot change any more. */
static bool has_sizes(const struct rsocket *rs)
{
	if (rs->datagram)
		return rs->datagram->paths;
	return rs->state != RS_NEW && rs->state != RS_LISTENING;
}

/* Buffers that cannot change any more keep their size without an error, as TCP's do. */
static int set_size(struct rsocket *rs, const struct option *option, uint32_t size)
{
	if (has_sizes(rs))
		return option->kind == KIND_BYTES ? 0 : EINVAL;
	*field(rs, option) = (int)size;
	return 0;
}

static int set_number(struct rsocket *rs, const struct option *option, int value)
{
	uint32_t size = 0;

	switch (option->kind) {
	case KIND_FLAG: *field(rs, option) = value != 0; return 0;
	case KIND_NUMBER: *field(rs, option) = value; return 0;
	case KIND_BYTES: size = rs_bounded(value * 2ll, RS_BYTES_MIN, RS_BYTES_MAX); break;
	case KIND_ENTRIES: size = rs_bounded(value, RS_ENTRIES_MIN, RS_ENTRIES_MAX); break;
	case KIND_INLINE: size = rs_bounded(value, 0, RS_ENTRIES_MAX); break;
	case KIND_IOMAP:
		size = rs_iomap_unscale(rs_iomap_scale(rs_bounded(value, 0, RS_IOMAP_MAX)));
		break;
	case KIND_IGNORED: return 0;
	}
	return set_size(rs, option, size);
}

static int set_timeout(int64_t *ret_ns, const void *value, socklen_t len)
{
	struct timeval time;

	if (len < sizeof(time))
		return EINVAL;
	memcpy(&time, value, sizeof(time));
	if (time.tv_sec < 0 || time.tv_usec < 0 || time.tv_usec >= 1000000)
		return EDOM;
	*ret_ns = (int64_t)time.tv_sec * RS_SECOND_NS + (int64_t)time.tv_usec * MICROSECOND_NS;
	if (!*ret_ns)
		*ret_ns = -1;
	return 0;
}

static int set_linger(struct rsocket *rs, const void *value, socklen_t len)
{
	struct linger linger;

	if (len < sizeof(linger))
		return EINVAL;
	memcpy(&linger, value, sizeof(linger));
	rs->options.linger_s = linger.l_onoff ? linger.l_linger : -1;
	return 0;
}

static int set_locked(struct rsocket *rs, int level, int name, const void *value, socklen_t len)
{
	const struct option *option = find(level, name);
	int number;

	if (option) {
		if (len < sizeof(number))
			return EINVAL;
		memcpy(&number, value, sizeof(number));
		return set_number(rs, option, number);
	}
	if (level == SOL_SOCKET && name == SO_LINGER)
		return set_linger(rs, value, len);
	if (level == SOL_SOCKET && name == SO_RCVTIMEO)
		return set_timeout(&rs->options.recv_timeout_ns, value, len);
	if (level == SOL_SOCKET && name == SO_SNDTIMEO)
		return set_timeout(&rs->options.send_timeout_ns, value, len);
	/* Taken, as rdma-core does: the device decides both. */
	if (level == IPPROTO_TCP && (name == TCP_MAXSEG || name == TCP_CONGESTION))
		return 0;
	return level == SOL_RDMA ? EOPNOTSUPP : ENOPROTOOPT;
}

/* The UDP socket has all options of its own, and the rsocket those that both know. */
static int set_datagram(struct rsocket *rs, int level, int name, const void *value, socklen_t len)
{
	bool is_timeout = level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO);
	int err = 0;

	if (level != SOL_RDMA && setsockopt(rs->datagram->udp, level, name, value, len))
		err = rcm_errno();
	if (err || (!find(level, name) && level != SOL_RDMA && !is_timeout))
		return err;
	return set_locked(rs, level, name, value, len);
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err;

	if (!rs)
		return -1;
	if (!optval)
		err = EFAULT;
	else if (rs->datagram)
		err = set_datagram(rs, level, optname, optval, optlen);
	else
		err = set_locked(rs, level, optname, optval, optlen);
	rs_put_locked(rs);
	return rcm_return(err);
}

/* Cut to the program's length, as the kernel does. */
static int give(void *to, socklen_t *len, const void *from, size_t from_len)
{
	if (*len > from_len)
		*len = (socklen_t)from_len;
	memcpy(to, from, *len);
	return 0;
}

static int give_number(void *to, socklen_t *len, int value)
{
	return give(to, len, &value, sizeof(value));
}

static int give_timeout(void *to, socklen_t *len, int64_t ns)
{
	struct timeval time = { 0 };

	if (ns >= 0) {
		time.tv_sec = ns / RS_SECOND_NS;
		time.tv_usec = ns % RS_SECOND_NS / MICROSECOND_NS;
	}
	return give(to, len, &time, sizeof(time));
}

static int get_socket(struct rsocket *rs, int name, void *value, socklen_t *len)
{
	const struct rs_options *own = &rs->options;
	struct linger linger = { .l_onoff = own->linger_s >= 0,
				 .l_linger = own->linger_s >= 0 ? own->linger_s : 0 };

	switch (name) {
	case SO_LINGER: return give(value, len, &linger, sizeof(linger));
	case SO_RCVTIMEO: return give_timeout(value, len, own->recv_timeout_ns);
	case SO_SNDTIMEO: return give_timeout(value, len, own->send_timeout_ns);
	case SO_ERROR: return give_number(value, len, rs_take_error(rs));
	case SO_TYPE: return give_number(value, len, SOCK_STREAM);
	case SO_DOMAIN: return give_number(value, len, rs->domain);
	case SO_PROTOCOL: return give_number(value, len, IPPROTO_TCP);
	case SO_ACCEPTCONN: return give_number(value, len, rs->state == RS_LISTENING);
	case SO_BROADCAST: return give_number(value, len, 0);
	default: return ENOPROTOOPT;
	}
}

static int get_tcp(const struct rsocket *rs, int name, void *value, socklen_t *len)
{
	struct tcp_info info = { 0 };

	switch (name) {
	case TCP_MAXSEG: return give_number(value, len, SEGMENT_BYTES);
	case TCP_CONGESTION: return give(value, len, "rdma", sizeof("rdma"));
	case TCP_INFO:
		info.tcpi_state = rs->state == RS_CONNECTED ? TCP_ESTABLISHED : TCP_CLOSE;
		info.tcpi_snd_cwnd = rs->options.sends;
		info.tcpi_snd_mss = info.tcpi_rcv_mss = SEGMENT_BYTES;
		return give(value, len, &info, sizeof(info));
	default: return ENOPROTOOPT;
	}
}

static int get_locked(struct rsocket *rs, int level, int name, void *value, socklen_t *len)
{
	const struct option *option = find(level, name);
	bool is_error = level == SOL_SOCKET && name == SO_ERROR;

	if (rs->datagram && level != SOL_RDMA && !(is_error && rs->err))
		return getsockopt(rs->datagram->udp, level, name, value, len) ? rcm_errno() : 0;
	if (option && option->kind == KIND_IGNORED)
		return give_number(value, len, 1);
	if (option)
		return give_number(value, len, *field(rs, option));
	if (level == SOL_SOCKET)
		return get_socket(rs, name, value, len);
	if (level == IPPROTO_TCP)
		return get_tcp(rs, name, value, len);
	return level == SOL_RDMA ? EOPNOTSUPP : ENOPROTOOPT;
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err;

	if (!rs)
		return -1;
	err = optval && optlen ? get_locked(rs, level, optname, optval, optlen) : EFAULT;
	rs_put_locked(rs);
	return rcm_return(err);
}

static int control_locked(struct rsocket *rs, int cmd, int arg)
{
	switch (cmd) {
	case F_GETFL: return O_RDWR | rs->status_flags;
	case F_GETFD: return rs->fd_flags;
	case F_SETFL: rs->status_flags = arg & O_NONBLOCK; return 0;
	case F_SETFD: rs->fd_flags = arg & FD_CLOEXEC; return 0;
	default: return rcm_return(EOPNOTSUPP);
	}
}

int rfcntl(int socket, int cmd, ...)
{
	struct rsocket *rs = rs_get_locked(socket);
	int arg = 0, rc;
	va_list args;

	if (!rs)
		return -1;
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_start(args, cmd);
		arg = va_arg(args, int);
		va_end(args);
	}
	rc = control_locked(rs, cmd, arg);
	rs_put_locked(rs);
	return rc;
}
