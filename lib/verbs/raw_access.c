// SPDX-License-Identifier: MIT
/* Raw packets and privilege. On an interface the kernel decides, when the raw port is opened. On a
 * device's private wire nothing is needed. */
#include "lib/verbs/raw_access.h"

#include <errno.h>

#include "lib/verbs/device.h"

int vb_raw_access(struct vb_device *dev)
{
	return dev->info.link == CTL_LINK_ETHERNET ? EOPNOTSUPP : 0;
}
