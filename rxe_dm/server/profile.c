// SPDX-License-Identifier: MIT
/* A profile is looked for beside the server, then in the prefix. */
#include "rxe_dm/server/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/log.h"

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

bool profile_load(struct ctl_profile *ret, const char *choice)
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
