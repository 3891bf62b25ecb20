// SPDX-License-Identifier: MIT
/* Raw packets and privilege. On an interface the kernel decides, when the raw port is opened. On a
 * device's private wire nothing is needed. */
#include "lib/verbs/raw_access.h"

#include <errno.h>

#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "lib/progress/raw.h"
#include "lib/verbs/device.h"

static void explain(const struct vb_device *dev, int err)
{
	if (err == EPERM)
		rxe_log(RXE_LOG_WARNING,
			"raw packets on %s need CAP_NET_RAW: run the program as root, or give it "
			"the capability with setcap(8)",
			dev->info.if_name);
}

int vb_raw_access(struct vb_device *dev)
{
	int err;

	if (dev->info.link != CTL_LINK_ETHERNET)
		return 0;
	if (!progress_lock(&dev->progress))
		return EINVAL;
	err = -raw_open(&dev->progress);
	progress_unlock(&dev->progress);
	explain(dev, err);
	return err;
}
