// SPDX-License-Identifier: MIT
/* The first call of a program: connect to the instance that the environment names. */
#include "lib/control/client.h"

#include <errno.h>

#include "lib/control/agree.h"
#include "lib/control/cancel.h"
#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/settings.h"

int ctl_connect(struct ctl_client **ret)
{
	struct ctl_device device[CTL_DEVICE_MAX];
	struct ctl_settings settings;
	char why[CTL_WHY_MAX];
	size_t n;
	int rc;
	NO_CANCEL;

	ctl_settings_init(&settings);
	if (!ctl_setting_from_env(&settings, ctl_setting_find("instance"), why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return -EINVAL;
	}
	rc = ctl_connect_as(ret, settings.instance, CTL_ROLE_PROGRAM, true);
	if (rc == 0 && ctl_list_devices(*ret, device, CTL_DEVICE_MAX, &n) == 0)
		ctl_agree(settings.instance, device, n);
	return rc;
}
