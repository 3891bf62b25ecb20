// SPDX-License-Identifier: MIT
/* The life of a server process: scheduling, start, report to the starter, service, end. */
#include "rxe_dm/server/server.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/control/settings.h"
#include "lib/control/start.h"
#include "lib/control/time_slice.h"
#include "rxe_dm/server/instance.h"

/* The starter may be pinned to processors, or in another scheduling class. A request takes a few
 * microseconds: with a short time slice the server runs it beside programs that poll. */
static void reset_scheduling(void)
{
	struct sched_param param = { 0 };
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	sched_setscheduler(0, SCHED_OTHER, &param);
	setpriority(PRIO_PROCESS, 0, 0);
	ctl_slice_shorten();
	signal(SIGPIPE, SIG_IGN);
	/* RLIMIT_FSIZE also limits shared memory: the call then fails with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
}

static void report_up(const struct instance *instance, bool to_starter)
{
	if (to_starter) {
		ctl_ready_send(CTL_READY_UP, "");
		ctl_log_stderr(CTL_LOG_ERROR); /* /dev/null from here on */
		close(CTL_READY_FD);
		return;
	}
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		const struct device *device = &instance->devices[i];
		char text[CTL_GID_STR_MAX];

		printf("rxe_dm%u at %s, %llu MiB of device memory (%s)\n", i,
		       ctl_gid_str(&device->link.gid, text),
		       (unsigned long long)(device->memory.ranges.len >> 20),
		       device->memory.arena.kind);
	}
	fflush(stdout);
}

/* A server that a program starts after a kill takes over the killed server's settings. */
static enum instance_result bring_up(struct instance *ret, const struct ctl_settings *settings,
				     bool lingers)
{
	struct ctl_settings saved = *settings;
	enum instance_result result = INSTANCE_FAILED;
	char why[CTL_WHY_MAX];
	bool stays = false;

	if (lingers && ctl_saved_read(&saved, &stays) && ctl_settings_check(&saved, why))
		result = instance_init(ret, &saved, stays);
	if (result == INSTANCE_FAILED)
		result = instance_init(ret, settings, !lingers);
	return result;
}

int server_run(const struct ctl_settings *settings, bool lingers, bool to_starter)
{
	static struct instance instance;
	int status = 1;

	reset_scheduling();
	switch (bring_up(&instance, settings, lingers)) {
	case INSTANCE_UP:
		ctl_saved_write(&instance.settings, instance.life.persistent);
		report_up(&instance, to_starter);
		status = instance_run(&instance) ? 1 : 0;
		ctl_saved_remove(settings->instance);
		instance_fini(&instance);
		break;
	case INSTANCE_BUSY:
		if (to_starter)
			ctl_ready_send(CTL_READY_BUSY, "");
		else
			ctl_log(CTL_LOG_ERROR, "instance '%s' is running already",
				settings->instance);
		break;
	case INSTANCE_FAILED:
		if (to_starter)
			ctl_ready_send(CTL_READY_FAILED, "");
		break;
	}
	return status;
}
