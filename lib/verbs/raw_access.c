// SPDX-License-Identifier: MIT
/* Who may use raw packets. */
#include "lib/verbs/raw_access.h"

#include <errno.h>
#include <string.h>

#include "lib/control/log.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/device.h"
#include "net/link/ethernet/raw_port.h"

/* On an interface the kernel decides who may use raw packets, when the raw port is opened. On a
 * device's private wire nothing is needed, unless the instance demands what an interface would. */
static int refuse_raw(const struct vb_device *dev, int err)
{
	const bool is_ethernet = dev->info.link == CTL_LINK_ETHERNET;
	const char *name = is_ethernet ? dev->info.if_name : dev->info.name;

	if (err == EPERM)
		return refuse_aloud(CTL_LOG_WARNING, WHY_RAW(err), name,
				    is_ethernet ? "" : " (--raw-privilege on)");
	return err ? refuse(WHY_RAW_PORT(err), name, strerror(err)) : 0;
}

static int open_raw_port(struct vb_device *dev)
{
	int err;

	if (!progress_lock(&dev->progress))
		return refuse(WHY_NO_ENGINE, "device");
	err = -device_link_open_raw(&dev->progress.link);
	progress_unlock(&dev->progress);
	return refuse_raw(dev, err);
}

int vb_raw_access(struct vb_device *dev)
{
	int err = 0;

	if (dev->info.link == CTL_LINK_ETHERNET)
		err = open_raw_port(dev);
	else if (dev->info.raw_privilege)
		err = refuse_raw(dev, -raw_port_may_open());
	return err;
}
