// SPDX-License-Identifier: MIT
/* Who may use raw packets. */
#include "lib/verbs/raw_access.h"

#include <errno.h>

#include "lib/control/log.h"
#include "lib/progress/progress.h"
#include "lib/verbs/device.h"
#include "net/link/ethernet/raw_port.h"

/* On an interface the kernel decides who may use raw packets, when the raw port is opened. On a
 * device's private wire nothing is needed, unless the instance demands what an interface would. */
static void explain_raw(const struct vb_device *dev, int err)
{
	if (err == EPERM)
		ctl_log(CTL_LOG_WARNING,
			"raw packets on %s need CAP_NET_RAW%s: run the program as root, or give it "
			"the capability with setcap(8)",
			dev->info.link == CTL_LINK_ETHERNET ? dev->info.if_name : dev->info.name,
			dev->info.link == CTL_LINK_ETHERNET ? "" : " (--raw-privilege on)");
}

static int open_raw_port(struct vb_device *dev)
{
	int err;

	if (!progress_lock(&dev->progress))
		return EINVAL;
	err = -device_link_open_raw(&dev->progress.link);
	progress_unlock(&dev->progress);
	return err;
}

int vb_raw_access(struct vb_device *dev)
{
	int err = 0;

	if (dev->info.link == CTL_LINK_ETHERNET)
		err = open_raw_port(dev);
	else if (dev->info.raw_privilege)
		err = -raw_port_may_open();
	explain_raw(dev, err);
	return err;
}
