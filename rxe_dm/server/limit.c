// SPDX-License-Identifier: MIT
/* Descriptors are what a server runs out of first: each program needs several. */
#include "rxe_dm/server/limit.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/control/log.h"
#include "rxe_dm/server/sysfs/sysfs.h"

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
	ctl_log(CTL_LOG_WARNING,
		"at most %u programs at once on a device, because of the limit of %u descriptors "
		"('ulimit -Hn')",
		settings->slots - 1, (unsigned int)limit.rlim_cur);
}

static const char *remedy(int rc)
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

int limit_explain(int rc, const char *what, ...)
{
	char text[256];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	ctl_log(CTL_LOG_ERROR, "%s: %s%s", text, strerror(-rc), remedy(rc));
	return rc;
}

/* Finds the installed profiles: in a build tree, in a relocated installation, or in the prefix. */
static FILE *open_installed(const char *name, char path[static PATH_MAX])
{
	static const char *const folders[] = { "profiles", RXE_DM_DATADIR_FROM_BINDIR "/profiles" };
	char exe[PATH_MAX] = "";
	FILE *ret = NULL;
	char *slash;

	if (realpath("/proc/self/exe", exe) && (slash = strrchr(exe, '/')))
		*slash = '\0';
	for (size_t i = 0; !ret && *exe && i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (snprintf(path, PATH_MAX, "%s/%s/%s", exe, folders[i], name) < PATH_MAX)
			ret = fopen(path, "re");
	}
	if (ret)
		return ret;
	snprintf(path, PATH_MAX, "%s/profiles/%s", RXE_DM_DATADIR, name);
	return fopen(path, "re");
}

static FILE *open_choice(const char *choice, char path[static PATH_MAX])
{
	FILE *ret;

	if (!strchr(choice, '/')) {
		ret = open_installed(choice, path);
		if (!ret)
			ctl_log(CTL_LOG_ERROR,
				"there is no profile '%s' at %s (--profile, RXE_DM_PROFILE): a "
				"file of your own is a path with a '/'",
				choice, path);
		return ret;
	}
	snprintf(path, PATH_MAX, "%s", choice);
	ret = fopen(path, "re");
	if (!ret)
		ctl_log(CTL_LOG_ERROR,
			"the profile %s cannot be read (--profile, RXE_DM_PROFILE): %s", path,
			strerror(errno));
	return ret;
}

bool limit_load_profile(struct ctl_profile *ret, const char *choice)
{
	const char *slash = strrchr(choice, '/');
	char path[PATH_MAX], why[CTL_PROFILE_WHY];
	uint32_t line = 0;
	FILE *from;
	bool ok;

	ctl_profile_init(ret);
	/* Has no effect, and needs no file. */
	if (strcmp(choice, ret->name) == 0)
		return true;
	from = open_choice(choice, path);
	if (!from)
		return false;
	ok = ctl_profile_read(ret, from, &line, why);
	if (!ok)
		ctl_log(CTL_LOG_ERROR, "%s:%u: %s", path, line, why);
	fclose(from);
	snprintf(ret->name, sizeof(ret->name), "%s", slash ? slash + 1 : choice);
	return ok;
}
