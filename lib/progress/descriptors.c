// SPDX-License-Identifier: MIT
/* Checks the device's descriptors: one system call for each. */
#include "lib/progress/descriptors.h"

#include <stdatomic.h>

#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "lib/progress/raw.h"
#include "net/link/descriptor.h"
#include "net/link/link.h"

#define CHECK_NS 1000000u

static bool are_kept(const struct progress *progress)
{
	if (progress->has_thread &&
	    (!descriptor_is_kept(progress->all_fd) || !descriptor_is_kept(progress->events_fd)))
		return false;
	return descriptor_is_kept(progress->wake_fd) &&
	       descriptor_is_kept(progress->attachment->event_fd) &&
	       descriptor_is_kept(progress->remote_requests.doorbell_fd) &&
	       link_has_descriptors(progress->link.phy) && raw_has_descriptors(progress);
}

void descriptors_opened(struct progress *progress)
{
	progress->check_ns = 0;
	atomic_store(&progress->is_missing_descriptors, false);
}

void descriptors_check(struct progress *progress, uint64_t now_ns)
{
	if (now_ns < progress->check_ns || descriptors_are_missing(progress))
		return;
	progress->check_ns = now_ns + CHECK_NS;
	if (are_kept(progress))
		return;
	device_link_cut(&progress->link);
	atomic_store(&progress->is_missing_descriptors, true);
	progress->owner->descriptors_closed(progress);
}

void descriptors_suspect(struct progress *progress)
{
	progress->check_ns = 0;
}

bool descriptors_are_missing(const struct progress *progress)
{
	return atomic_load(&progress->is_missing_descriptors);
}
