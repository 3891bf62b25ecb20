// SPDX-License-Identifier: MIT
/* rxe_dm run: a program that loads our libibverbs.so.1 instead of the system's. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/agree.h"
#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/unkind/plan.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/command/run.h"
#include "rxe_dm/command/run_check.h"
#include "rxe_dm/command/run_tool.h"

/* A name and no path: a path in LD_PRELOAD has no blank. */
#define RSOCKETS      "librspreload.so"
#define LIBRARY	      "libibverbs.so.1"
#define WATCH	      "librxe_dm_check.so"
#define WORST	      "RXE_DM_WORST"
#define WORST_USUAL   "1"
#define RECORD	      "RXE_DM_RECORD"
#define RECORD_FOLDER "record"
#define FOLDERS_MAX   (8 * PATH_MAX)

static bool has_library(const char *folder)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/" LIBRARY, folder) < (int)sizeof(path) &&
	       stat(path, &st) == 0;
}

/* In a build tree, a relocated installation, or the prefix. False: explained. */
static bool find_libraries(char ret[static FOLDERS_MAX])
{
	char exe[PATH_MAX], from[PATH_MAX + 64];
	char *slash;

	if (!realpath("/proc/self/exe", exe)) {
		ctl_log(CTL_LOG_ERROR,
			"cannot find %s of this installation: /proc/self/exe: %s; is /proc mounted "
			"('mount -t proc proc /proc')?",
			LIBRARY, strerror(errno));
		return false;
	}
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	snprintf(from, sizeof(from), "%s/../lib/verbs", exe);
	if (has_library(from)) {
		snprintf(ret, FOLDERS_MAX,
			 "%s:%s/../lib/mlx5:%s/../lib/rdmacm:%s/../lib/rdmacm/rsocket_preload:"
			 "%s/../lib/redirect:%s/../lib/watch",
			 from, exe, exe, exe, exe, exe);
		return true;
	}
	snprintf(from, sizeof(from), "%s/%s", exe, RXE_DM_LIBDIR_FROM_BINDIR);
	if (!has_library(from))
		snprintf(from, sizeof(from), "%s", RXE_DM_PRIVATE_LIBDIR);
	snprintf(ret, FOLDERS_MAX, "%s:%s/rsocket", from, from);
	if (has_library(from))
		return true;
	ctl_log(CTL_LOG_ERROR, LIBRARY " of this installation is missing, looked for in %s", from);
	return false;
}

/* False: explained. */
static bool has_rsockets(const char *folders)
{
	char path[PATH_MAX];

	if (run_find(folders, RSOCKETS, path))
		return true;
	ctl_log(CTL_LOG_ERROR, "--rsockets: this installation has no " RSOCKETS
			       ": it was built without rsockets (meson setup -Drsockets=enabled)");
	return false;
}

/* Puts the folder of another build of libibverbs.so.1 in front. False: explained. */
static bool add_build(char folders[static FOLDERS_MAX], const char *build, const char *option)
{
	const int first = (int)strcspn(folders, ":");
	char both[FOLDERS_MAX], path[PATH_MAX];
	int len;

	/* In a build tree lib/check and lib/record stand beside lib/verbs. */
	len = snprintf(both, sizeof(both), "%.*s/%s", first, folders, build);
	if (!run_find(both, LIBRARY, path))
		len = snprintf(both, sizeof(both), "%.*s/../%s", first, folders, build);
	if (!run_find(both, LIBRARY, path)) {
		ctl_log(CTL_LOG_ERROR, "%s: %s/" LIBRARY " of this installation is missing", option,
			both);
		return false;
	}
	snprintf(both + len, sizeof(both) - (size_t)len, ":%s", folders);
	memcpy(folders, both, sizeof(both));
	return true;
}

/* The tool of --record has set the variable. False: explained. */
static bool add_layers(char folders[static FOLDERS_MAX], bool check)
{
	const char *record = check ? RECORD_FOLDER "/" RUN_CHECK_FOLDER : RECORD_FOLDER;

	if (check && !add_build(folders, RUN_CHECK_FOLDER, "--check"))
		return false;
	return !*run_variable(RECORD) || add_build(folders, record, "--record");
}

static int set_libraries(const char *folders, bool rsockets, bool check)
{
	int rc = run_set_list("LD_LIBRARY_PATH", folders, run_variable("LD_LIBRARY_PATH"));

	if (!rc && check)
		rc = run_preload(folders, WATCH);
	if (!rc && rsockets) /* last: a sanitizer's runtime must stay first */
		rc = run_set_list("LD_PRELOAD", run_variable("LD_PRELOAD"), RSOCKETS);
	/* For programs with default options of their own, which hide those of our libraries
	 * (lib/redirect/sanitizer.c). First: what the user has set wins. */
	if (!rc)
		rc = run_set_list("ASAN_OPTIONS", "verify_asan_link_order=0",
				  run_variable("ASAN_OPTIONS"));
	return rc;
}

/* A running server keeps its settings. keep: variables that contradict them are taken out of the
 * environment. False: some do; explained. */
static bool agrees(struct ctl_client *client, bool keep)
{
	struct ctl_device device[CTL_DEVICE_MAX];
	char has[CTL_HAS_MAX];
	const char *variable;
	size_t n;

	if (ctl_list_devices(client, device, CTL_DEVICE_MAX, &n))
		return true;
	while ((variable = ctl_contradicts(device, n, has))) {
		if (!keep) {
			ctl_log(CTL_LOG_ERROR,
				"%s is %.60s, but instance '%s' (process %d) runs with %s: "
				"'rxe_dm stop' it first, choose another one with --instance, or "
				"run with what it has by --keep",
				variable, run_variable(variable), client->instance,
				(int)client->server_pid, has);
			return false;
		}
		unsetenv(variable);
	}
	return true;
}

/* Checks the settings and starts the server, so that errors are explained here and not by a program
 * that finds no device. Returns an exit status. */
static int need_server(struct ctl_settings *settings, enum run_view view, bool host, bool keep,
		       const char *folders)
{
	struct ctl_client *client;
	char why[CTL_WHY_MAX];
	int status = 0;

	if (!ctl_settings_check(settings, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return 2;
	}
	if (ctl_connect_as(&client, settings->instance, CTL_ROLE_COMMAND, true))
		return 1;
	if (!agrees(client, keep))
		status = 2;
	else if (view != RUN_VIEW_NONE)
		run_view(client, host, folders);
	ctl_disconnect(client);
	return status;
}

/* --worst, or the variable, or what --check takes. False: explained. */
static bool set_worst(const char *option, bool check)
{
	const char *plan = option ? option : run_variable(WORST);
	char why[UNKIND_WHY_MAX];
	struct unkind_plan parsed;

	if (!option && !check && !*plan)
		return true;
	if (!*plan)
		plan = WORST_USUAL;
	if (!unkind_plan_parse(&parsed, plan, why)) {
		ctl_log(CTL_LOG_ERROR, "%s: %s", option ? "--worst" : WORST, why);
		return false;
	}
	if (setenv(WORST, plan, 1) == 0)
		return true;
	ctl_log(CTL_LOG_ERROR, "cannot set %s: %s", WORST, strerror(errno));
	return false;
}

int command_run(int argc, char **argv)
{
	static const char *const views[] = { "preload", "none", NULL }; /* enum run_view */
	struct run_check check = { .exit_status = RUN_CHECK_EXIT };
	bool rsockets = false, host = false, keep = false;
	uint64_t view = RUN_VIEW_PRELOAD;
	const char *worst = NULL;
	struct run_tool tool = { 0 };
	const struct command_option own[] = {
		{ .name = "view",
		  .argument = "preload|none",
		  .help = "how the program finds the device in /sys and /dev; default preload",
		  .number = &view,
		  .words = views },
		{ .name = "uverbs" }, /* of former releases, in scripts: part of every view */
		{ .name = "host-devices",
		  .help = "let it see the adapters of the host, too",
		  .given = &host },
		{ .name = "keep",
		  .help = "go on with the settings of a running server where these differ",
		  .given = &keep },
		{ .name = "rsockets",
		  .help = "let the program's TCP sockets be rsockets (preloads librspreload.so)",
		  .given = &rsockets },
		{ .name = "worst",
		  .argument = "[=SEED[,SWITCH]...|none]",
		  .help = "let the device be as unkind as the standard allows (RXE_DM_WORST); "
			  "--check does",
		  .text = &worst },
		RUN_TOOL_OPTIONS(tool),
		RUN_CHECK_OPTIONS(check),
		{ 0 },
	};
	struct command_options options;
	int status = options_parse(&options, argc, argv, own);
	char folders[FOLDERS_MAX];
	char **program = argv + options.rest;

	if (status != OPTIONS_OK)
		return status;
	if (options.rest >= argc) {
		fprintf(stderr, "rxe_dm: run what? For example: rxe_dm run ibv_devinfo\n");
		return 2;
	}
	if (tool.record || tool.world)
		return tool_run(argc, argv, options.rest);
	if (!run_check_prepare(&check) || !set_worst(worst, check.on))
		return 2;
	if (!find_libraries(folders) || (rsockets && !has_rsockets(folders)) ||
	    !add_layers(folders, check.on))
		return 1;
	status = need_server(&options.settings, (enum run_view)view, host, keep, folders);
	if (status)
		return status;
	if (set_libraries(folders, rsockets, check.on)) {
		fprintf(stderr, "rxe_dm: could not set up the environment\n");
		return 1;
	}
	verbs_linked_warn(program[0]);
	check.worst = run_variable(WORST);
	if (check.on)
		return run_check_program(&check, options.settings.instance, program);
	execvp(program[0], program);
	fprintf(stderr, "rxe_dm: cannot run '%s': %s\n", program[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
