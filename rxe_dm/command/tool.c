// SPDX-License-Identifier: MIT
/* Subcommands that are Python programs: rxe_dm lab, explore, report, and run --record. The command
 * finds the program in a build tree beside itself, in a relocated installation, or in the prefix,
 * and becomes python3. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/command/run_tool.h"

#define ARGUMENTS_MAX 4096

/* Sets the path of this command, and that of the tool's file. False: explained. */
static bool find_tool(const char *name, char exe[static PATH_MAX], char ret[static PATH_MAX])
{
	static const char *const folders[] = { ".", RXE_DM_DATADIR_FROM_BINDIR };
	int len;

	if (!realpath("/proc/self/exe", exe)) {
		ctl_log(CTL_LOG_ERROR, "cannot find '%s' of this installation: /proc/self/exe: %s",
			name, strerror(errno));
		return false;
	}
	len = (int)(strrchr(exe, '/') - exe);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (snprintf(ret, PATH_MAX, "%.*s/%s/%s", len, exe, folders[i], name) < PATH_MAX &&
		    access(ret, R_OK) == 0)
			return true;
	}
	snprintf(ret, PATH_MAX, "%s/%s", RXE_DM_DATADIR, name);
	if (access(ret, R_OK) == 0)
		return true;
	ctl_log(CTL_LOG_ERROR, "'%s' of this installation is missing, looked for in %s", name, ret);
	return false;
}

/* Executes the tool with the path of this command, the word of ours if there is one, and
 * argv[1, argc). Returns only where the tool does not run: an exit status. */
static int become(const char *name, char *word, int argc, char **argv)
{
	static char python[] = "python3", no_cache[] = "-B";
	char exe[PATH_MAX], path[PATH_MAX];
	char *arguments[ARGUMENTS_MAX] = { python, no_cache, path, exe };
	int error, n = 4;

	if (argc > ARGUMENTS_MAX - 6) {
		ctl_log(CTL_LOG_ERROR, "%s takes at most %d arguments", argv[0], ARGUMENTS_MAX - 6);
		return 2;
	}
	if (!find_tool(name, exe, path))
		return 1;
	if (word)
		arguments[n++] = word;
	for (int i = 1; i < argc; i++)
		arguments[n++] = argv[i];
	execvp(python, arguments);
	error = errno;
	ctl_log(CTL_LOG_ERROR, "cannot run python3, in which 'rxe_dm %s' is written: %s%s", argv[0],
		strerror(error), error == ENOENT ? "; install the package python3" : "");
	return error == ENOENT ? 127 : 126;
}

int command_lab(int argc, char **argv)
{
	return become("lab/main.py", NULL, argc, argv);
}

int command_report(int argc, char **argv)
{
	return become("report/main.py", NULL, argc, argv);
}

int command_explore(int argc, char **argv)
{
	return become("explore/main.py", NULL, argc, argv);
}

int tool_run(int argc, char **argv, int rest)
{
	char options[16];

	snprintf(options, sizeof(options), "%d", rest - 1);
	return become("explore/once.py", options, argc, argv);
}
