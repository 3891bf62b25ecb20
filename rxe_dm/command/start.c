// SPDX-License-Identifier: MIT
/* rxe_dm start and stop. A start in the background is the same as what libibverbs does, but the server stays. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/process.h"
#include "lib/control/socket.h"
#include "lib/control/start.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/server/former.h"
#include "rxe_dm/server/instance.h"

#define STOP_TIMEOUT_MS 10000
#define MAX_FORWARDED	24

static void ready_line(char tag, const char *text)
{
	char line[600];
	int len = snprintf(line, sizeof(line), "%c%s\n", tag, text);

	if (write(CTL_READY_FD, line, (size_t)len) < 0)
		return; /* whoever started us has gone; that is no reason not to serve */
}

static void log_to_starter(enum ctl_log_level level, const char *line)
{
	if (level != CTL_LOG_DEBUG)
		ready_line(level == CTL_LOG_ERROR ? CTL_READY_ERROR : CTL_READY_NOTICE, line);
}

/* Whoever started us may be pinned, or of another scheduling class. A request is a few microseconds of work, which programs
 * that poll wait for: a short slice gets it done beside them. */
static void be_ordinary(void)
{
	struct sched_param param = { 0 };
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	sched_setscheduler(0, SCHED_OTHER, &param);
	setpriority(PRIO_PROCESS, 0, 0);
	ctl_short_slice();
	signal(SIGPIPE, SIG_IGN);
	/* A limit of file sizes, which holds for shared memory too, fails the write (EFBIG) and not the server. */
	signal(SIGXFSZ, SIG_IGN);
}

static int report_up(const struct instance *instance, bool to_starter)
{
	if (to_starter) {
		ready_line(CTL_READY_UP, "");
		ctl_log_stderr(CTL_LOG_ERROR); /* /dev/null from here on */
		close(CTL_READY_FD);
		return 0;
	}
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		const struct device *device = &instance->devices[i];
		char text[CTL_GID_STR_MAX];

		printf("rxe_dm%u at %s, %llu MiB of device memory (%s)\n", i,
		       ctl_gid_str(&device->gid, text),
		       (unsigned long long)(device->ranges.len >> 20), device->arena.kind);
	}
	fflush(stdout);
	return 0;
}

/* Started by a program after its instance's server was killed, it goes on as that one was, where that is possible. */
static enum instance_result bring_up(struct instance *ret, const struct ctl_settings *settings,
				     bool lingers)
{
	struct ctl_settings former = *settings;
	enum instance_result result = INSTANCE_FAILED;
	char why[CTL_WHY_MAX];
	bool stays = false;

	if (lingers && former_take(&former, &stays) && ctl_settings_check(&former, why))
		result = instance_init(ret, &former, stays);
	if (result == INSTANCE_FAILED)
		result = instance_init(ret, settings, !lingers);
	return result;
}

static int serve(const struct ctl_settings *settings, bool lingers, bool to_starter)
{
	static struct instance instance;
	int status = 1;

	be_ordinary();
	switch (bring_up(&instance, settings, lingers)) {
	case INSTANCE_UP:
		former_keep(&instance);
		status = report_up(&instance, to_starter);
		instance_run(&instance);
		former_forget(settings->instance);
		instance_fini(&instance);
		break;
	case INSTANCE_BUSY:
		if (to_starter)
			ready_line(CTL_READY_BUSY, "");
		else
			ctl_log(CTL_LOG_ERROR, "instance '%s' is running already",
				settings->instance);
		break;
	case INSTANCE_FAILED:
		if (to_starter)
			ready_line(CTL_READY_FAILED, "");
		break;
	}
	return status;
}

/* A server is there: make it stay. Its settings are its own. */
static int keep_running(struct ctl_client *client, const struct command_options *options)
{
	struct ctl_call call = { .req = { .op = CTL_STAY }, .in_fd = -1 };
	int rc;

	if (options->given) {
		fprintf(stderr,
			"rxe_dm: instance '%s' is running already (process %d): 'rxe_dm stop' it "
			"first, or "
			"choose another one with --instance\n",
			options->settings.instance, (int)client->server_pid);
		return 1;
	}
	rc = ctl_do(client, &call, 0);
	if (rc) {
		fprintf(stderr, "rxe_dm: the device server does not answer: %s\n", strerror(-rc));
		return 1;
	}
	printf("instance '%s' is running already (process %d); it stays until 'rxe_dm stop'\n",
	       options->settings.instance, (int)client->server_pid);
	return 0;
}

static int start_in_background(int argc, char **argv)
{
	const char *args[MAX_FORWARDED + 3] = { "start", CTL_READY_OPTION };
	int rc;

	if (argc > MAX_FORWARDED) {
		fprintf(stderr, "rxe_dm: too many options\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		args[i + 1] = argv[i];
	rc = ctl_start_server(args);
	return rc == 0 || rc == -EALREADY ? 0 : 1;
}

int command_start(int argc, char **argv)
{
	bool foreground = false, autostarted = false, ready = false;
	const struct command_flag flags[] = {
		{ "--foreground", NULL, "stay in the foreground, until Ctrl-C", &foreground, NULL },
		{ "--auto", NULL, NULL, &autostarted, NULL },
		{ CTL_READY_OPTION, NULL, NULL, &ready, NULL },
		{ NULL, NULL, NULL, NULL, NULL },
	};
	struct command_options options;
	struct ctl_client *client;
	char why[CTL_WHY_MAX];
	enum options_result result;
	int rc;

	/* Before anything can go wrong: it is the starter who has somebody to tell. */
	for (int i = 1; i < argc; i++)
		ready |= strcmp(argv[i], CTL_READY_OPTION) == 0;
	if (ready) {
		fcntl(CTL_READY_FD, F_SETFD, FD_CLOEXEC);
		ctl_log_to(log_to_starter);
	}
	result = options_parse(&options, argc, argv, flags);
	if (result != OPTIONS_OK)
		return result == OPTIONS_HELP ? 0 : 2;
	if (options.rest < argc) {
		ctl_log(CTL_LOG_ERROR, "start takes no argument '%s'", argv[options.rest]);
		return 2;
	}
	if (!ctl_settings_check(&options.settings, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return 2;
	}
	/* Only now: a relative path of a setting was meant for the starter's directory. */
	if (ready && chdir("/"))
		return 1;
	if (foreground || ready)
		return serve(&options.settings, autostarted, ready);

	rc = ctl_connect_as(&client, options.settings.instance, CTL_ROLE_COMMAND, false);
	if (rc == 0) {
		rc = keep_running(client, &options);
		ctl_disconnect(client);
		return rc;
	}
	return rc == -ECONNREFUSED ? start_in_background(argc, argv) : 1;
}
