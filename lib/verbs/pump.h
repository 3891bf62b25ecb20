/* SPDX-License-Identifier: MIT */
/* What moves the packets of a device in this process: the engine, its lock, its link, the thread in the background. */
#ifndef RXE_VERBS_PUMP_H
#define RXE_VERBS_PUMP_H

#include <pthread.h>

struct dm_device;
struct dm_context;

struct dm_pump {
	pthread_mutex_t lock;
};

struct dm_async {
	int reserved;
};

/* The device is attached: engine, link and thread come to life. 0 or a negative errno. Under the device's lock. */
int dm_pump_start(struct dm_device *dev);
/* The last context goes: everything owed is flushed, nothing of it runs any more. Under the device's lock. */
void dm_pump_stop(struct dm_device *dev);
/* When it returns the engine has finished what it was at: nobody is inside memory whose key was cleared before. */
void dm_pump_quiesce(struct dm_device *dev);

/* The context's async_fd and its queue of events. 0 or a negative errno. */
int dm_async_init(struct dm_context *context);
void dm_async_fini(struct dm_context *context);

#endif
