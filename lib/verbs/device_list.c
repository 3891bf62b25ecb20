// SPDX-License-Identifier: MIT
/* The device list. A device, once listed, keeps its address until the process ends: a program may
 * free the list while contexts are open, and two lists hold the same pointers. */
#include "lib/verbs/device_list.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/async.h"
#include "lib/verbs/device.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/owner.h"

/* Stands where stock providers keep their table of operations. Its address is none of theirs. */
static const void *const no_provider[64];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ctl_client *connection;
static struct vb_device *known[4 * VB_MAX_DEVICES];
static size_t num_known;

struct vb_device *vb_device_of(const struct ibv_device *device)
{
	struct vb_device *found = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < num_known && !found; i++) {
		if (&known[i]->base == device)
			found = known[i];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void describe(struct vb_device *dev)
{
	struct ibv_device *base = &dev->base;

	base->node_type = IBV_NODE_CA;
	base->transport_type = IBV_TRANSPORT_IB;
	snprintf(base->name, sizeof(base->name), "%.63s", dev->info.name);
	snprintf(base->dev_name, sizeof(base->dev_name), "uverbs%u", dev->info.index);
	snprintf(base->dev_path, sizeof(base->dev_path), "/sys/class/infiniband_verbs/uverbs%u",
		 dev->info.index);
	snprintf(base->ibdev_path, sizeof(base->ibdev_path), "/sys/class/infiniband/%.63s",
		 dev->info.name);
}

/* Finds or makes the object of a device that the server lists. A device of a former server is
 * reused when no context is open on it. NULL: no memory, or too many devices. Under the lock. */
static struct vb_device *adopt(struct ctl_client *client, const struct ctl_device *info)
{
	struct vb_device *dev;

	for (size_t i = 0; i < num_known; i++) {
		bool usable;

		dev = known[i];
		if (dev->info.index != info->index)
			continue;
		pthread_mutex_lock(&dev->lock);
		usable = dev->client == client || dev->contexts == 0;
		/* An open device stays as it was opened: its threads read this without a lock. */
		if (dev->contexts == 0) {
			dev->client = client;
			dev->info = *info;
			describe(dev);
		}
		pthread_mutex_unlock(&dev->lock);
		if (usable)
			return dev;
	}
	if (num_known == sizeof(known) / sizeof(known[0]))
		return NULL;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	pthread_mutex_init(&dev->lock, NULL);
	progress_init(&dev->progress, &vb_owner, &dev->info, &dev->attachment);
	vb_gate_init(dev);
	dev->foreign = no_provider;
	dev->client = client;
	dev->info = *info;
	describe(dev);
	known[num_known++] = dev;
	return dev;
}

static bool in_use(const struct ctl_client *client)
{
	for (size_t i = 0; i < num_known; i++) {
		if (known[i]->client == client)
			return true;
	}
	return false;
}

static int connect_locked(void)
{
	ctl_log_as_verbs();
	return connection ? 0 : ctl_connect(&connection);
}

int vb_device_connect(struct ctl_client **ret)
{
	int err;

	pthread_mutex_lock(&lock);
	err = connect_locked();
	if (!err)
		*ret = connection;
	pthread_mutex_unlock(&lock);
	return err;
}

struct vb_device *vb_device_at(const struct ctl_client *client, uint32_t index)
{
	struct vb_device *found = NULL;
	struct ctl_device info[VB_MAX_DEVICES];
	size_t n = 0;

	pthread_mutex_lock(&lock);
	if (connection && client == connection &&
	    ctl_list_devices(connection, info, VB_MAX_DEVICES, &n) == 0) {
		for (size_t i = 0; i < n && !found; i++) {
			if (info[i].index == index)
				found = adopt(connection, &info[i]);
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* Lists the server's devices. When the known server has exited, connects to its successor; *ret_old
 * is then the connection to the dead server. 0 or a negative errno. Under the lock. */
static int list(struct ctl_device *ret, size_t *ret_count, struct ctl_client **ret_old)
{
	int err = connect_locked();

	if (err)
		return err;
	err = ctl_list_devices(connection, ret, VB_MAX_DEVICES, ret_count);
	if (!err)
		return 0;

	*ret_old = connection;
	connection = NULL;
	err = connect_locked();
	return err ? err : ctl_list_devices(connection, ret, VB_MAX_DEVICES, ret_count);
}

/* The program expects findings, and this is the library without them. */
static void warn_of_no_checks(void)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	const char *checks = secure_getenv("RXE_DM_CHECK");

	if (!checks || !*checks || strcmp(checks, "0") == 0 || refusal_is_observed() ||
	    atomic_flag_test_and_set(&is_said))
		return;
	ctl_log_as_verbs();
	ctl_log(CTL_LOG_WARNING,
		"RXE_DM_CHECK is set, but this libibverbs.so.1 checks nothing: run the program "
		"by 'rxe_dm run --check'");
}

/* ibv_get_device_list(3). Without a server the list is empty: no error. NULL, ENOMEM: no memory. */
struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ctl_device info[VB_MAX_DEVICES];
	struct ctl_client *old = NULL;
	struct ibv_device **ret;
	size_t n = 0, count = 0;
	int err;
	NO_CANCEL;

	warn_of_no_checks();
	if (num_devices)
		*num_devices = 0;
	ret = calloc(VB_MAX_DEVICES + 1, sizeof(struct ibv_device *));
	if (!ret)
		return vb_fail(refuse(WHY_NO_MEMORY, "the list of devices"));

	pthread_mutex_lock(&lock);
	err = list(info, &n, &old);
	for (size_t i = 0; !err && i < n; i++) {
		struct vb_device *dev = adopt(connection, &info[i]);

		if (dev)
			ret[count++] = &dev->base;
	}
	if (old && !in_use(old))
		ctl_disconnect(old);
	pthread_mutex_unlock(&lock);

	if (err)
		ctl_log(CTL_LOG_INFO,
			"ibv_get_device_list: no devices, because no device server answers: %s; "
			"'rxe_dm start' starts one",
			strerror(-err));
	if (num_devices)
		*num_devices = (int)count;
	return ret;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return vb_device_of(device) ? device->name
				    : vb_fail(refuse(WHY_NOT_A_DEVICE, (void *)device));
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	const struct vb_device *dev = vb_device_of(device);

	if (!dev)
		vb_result(refuse(WHY_NOT_A_DEVICE, (void *)device));
	return dev ? dev->info.node_guid : 0;
}

int ibv_get_device_index(struct ibv_device *device)
{
	/* Programs ask the kernel about an index (netlink), which does not know this device. */
	(void)device;
	return -1;
}

void vb_devices_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (size_t i = 0; i < num_known; i++) {
		pthread_mutex_init(&known[i]->lock, NULL);
		vb_gate_forked(known[i]);
		vb_async_forked(known[i]);
		progress_drop_in_child(&known[i]->progress);
	}
}

__attribute__((destructor)) static void exiting(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && known[i]; i++)
		progress_exit(&known[i]->progress);
}
