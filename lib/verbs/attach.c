// SPDX-License-Identifier: MIT
/* The process's attachment to a device: slot, mappings and engine. The first context attaches, the
 * last detaches, a child of fork() attaches again. */
#include "lib/verbs/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/refused.h"

/* Whether what the server sends makes each async_fd readable. Under the engine lock. */
static void watch_server(const struct vb_device *dev, bool yes)
{
	for (const struct vb_context *c = dev->open_contexts; c; c = c->async.next)
		vb_async_fd_watch(&c->async.fd, dev->attachment.event_fd, yes);
}

/* The first context of the process. Under the device's lock. */
static int attach_first(struct vb_device *dev)
{
	int err = ctl_attach(dev->client, dev->info.index, &dev->attachment);

	if (err)
		return err;
	vb_gate_attached(dev);
	err = progress_start(&dev->progress);
	if (err) {
		ctl_detach(dev->client, dev->info.index, &dev->attachment);
		return err;
	}
	vb_refused_attach(dev->info.index, vb_slot(dev));
	atomic_store(&dev->forks, vb_forks());
	return 0;
}

/* Under the device's lock. */
static int start_thread(struct vb_device *dev)
{
	int err;

	/* The child after fork() may read events before it attaches. */
	if (dev->progress.has_thread || atomic_load(&dev->forks) != vb_forks())
		return 0;
	/* A capture that is under way also gets the first packet. If the server has exited, the
	 * next request fails. */
	(void)ctl_join_captures(dev->client, dev->info.index);
	progress_read_server(&dev->progress);
	pthread_mutex_lock(&dev->progress.lock);
	watch_server(dev, false);
	err = progress_thread_start(&dev->progress);
	if (err)
		watch_server(dev, true);
	progress_unlock(&dev->progress);
	return err;
}

int vb_device_start_thread(struct vb_device *dev)
{
	int err;
	NO_CANCEL;

	if (dev->progress.has_thread)
		return 0;
	pthread_mutex_lock(&dev->lock);
	err = start_thread(dev);
	pthread_mutex_unlock(&dev->lock);
	return err ? refuse(WHY_SYSTEM(-err), "the device's thread cannot be started",
			    strerror(-err))
		   : 0;
}

/* Logs once for each fork why control verbs fail. Under the device's lock. */
static void explain_fork(struct vb_device *dev, int err)
{
	if (dev->failed_fork != vb_forks())
		ctl_log(CTL_LOG_WARNING,
			"this child of fork() cannot use %s: %s; is the device server running "
			"('rxe_dm show'), and are descriptors left ('ulimit -n')?",
			dev->base.name, strerror(-err));
	dev->failed_fork = vb_forks();
}

/* The first control verb of a forked child: it gets a slot and an engine of its own. Under the
 * device's lock. */
static int attach_again(struct vb_device *dev)
{
	struct ctl_attachment more;
	int err = ctl_attach(dev->client, dev->info.index, &dev->attachment);

	if (!err) {
		/* The client counted the attachment of the parent and this one: give one back. */
		more = dev->attachment;
		ctl_detach(dev->client, dev->info.index, &more);
		vb_gate_attached(dev);
		err = progress_start(&dev->progress);
	}
	if (err) {
		explain_fork(dev, err);
		return err;
	}
	pthread_mutex_lock(&dev->progress.lock);
	watch_server(dev, true);
	pthread_mutex_unlock(&dev->progress.lock);
	vb_refused_attach(dev->info.index, vb_slot(dev));
	atomic_store(&dev->forks, vb_forks());
	return 0;
}

int vb_device_attach(struct vb_device *dev)
{
	int err = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->contexts == 0)
		err = attach_first(dev);
	else if (atomic_load(&dev->forks) != vb_forks())
		err = attach_again(dev);
	if (!err)
		dev->contexts++;
	pthread_mutex_unlock(&dev->lock);
	return err;
}

void vb_device_detach(struct vb_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (--dev->contexts == 0) {
		progress_stop(&dev->progress);
		vb_refused_detach(dev->info.index);
		ctl_detach(dev->client, dev->info.index, &dev->attachment);
	}
	pthread_mutex_unlock(&dev->lock);
}

void vb_device_follow_fork(struct vb_device *dev)
{
	NO_CANCEL;

	pthread_mutex_lock(&dev->lock);
	if (dev->contexts && atomic_load(&dev->forks) != vb_forks())
		attach_again(dev);
	pthread_mutex_unlock(&dev->lock);
}
