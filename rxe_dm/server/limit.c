// SPDX-License-Identifier: MIT
/* Descriptors are what a server runs out of first: each program needs several. */
#include "rxe_dm/server/limit.h"

#include <errno.h>
#include <sys/resource.h>

#include "lib/control/log.h"
#include "rxe_dm/server/sysfs.h"

#define SERVER_FDS (64u + SYSFS_MAX_USERS)
#define DEVICE_FDS 13u /* without slots: sockets, memory, address, QP 1 */

void limit_fit_slots(struct ctl_settings *settings)
{
	struct rlimit limit;
	uint32_t programs, own;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 1u << 20)
		return;
	/* Each program needs a connection, a pidfd and a spare; on each device a socket, an event
	 * socket and a cmd_fd (on an interface fewer: the server does not keep its sockets). */
	own = SERVER_FDS + DEVICE_FDS * (settings->devices - 1);
	programs = limit.rlim_cur > own ? (uint32_t)limit.rlim_cur - own : 0;
	programs /= 3 + 3 * settings->devices;
	if (programs >= settings->slots)
		return;
	settings->slots = programs < 2 ? 2 : programs;
	ctl_log(CTL_LOG_NOTICE,
		"at most %u programs at once on a device, because of the limit of %u descriptors "
		"('ulimit -Hn')",
		settings->slots - 1, (unsigned int)limit.rlim_cur);
}

const char *limit_remedy(int rc)
{
	switch (-rc) {
	case EMFILE: return ": raise the limit of descriptors ('ulimit -Hn')";
	case ENFILE: return ": this machine has no descriptor left ('sysctl fs.file-max')";
	case EFBIG:
		return ": raise the limit of file sizes ('ulimit -f'), which limits shared memory, "
		       "too";
	case ENOMEM:
	case ENOBUFS: return ": this machine lacks memory: end other programs";
	case EADDRINUSE:
		return ": another program has the port ('ss -ulnp' shows it): end that, or choose "
		       "another address with --address or RXE_DM_ADDRESS";
	default: return "";
	}
}
