/* SPDX-License-Identifier: MIT */
/* One instance: its name, its devices, its clients, and the loop that serves them. */
#ifndef RXE_DM_SERVER_INSTANCE_H
#define RXE_DM_SERVER_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/settings.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/findings.h"
#include "rxe_dm/server/link/local_peers.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/loop.h"

#define MAX_CONNS 4096

struct cm_neighbor;
struct gsi_local;
struct cma_ids;
struct sysfs;

/* One run of the server: its identity, and how long it lasts. */
struct instance_life {
	uint64_t id; /* random: identifies this run */
	uint64_t serial;
	uint64_t started_ns;
	bool persistent;	/* runs until 'rxe_dm stop' */
	uint64_t idle_since_ns; /* UINT64_MAX: in use */
	uint64_t linger_ns;
	bool ending;
};

/* Who is connected to the control socket. */
struct instance_conns {
	struct conn *all;
	struct conn *working; /* their call is not done */
	uint32_t num, num_programs;
};

/* The connection manager (cm/host.h). */
struct instance_cm {
	struct cma_ids *ids;
	struct cm_failures failures;
	struct cm_neighbor *neighbors; /* asked for, not known yet */
	struct gsi_local *local;       /* MADs between devices of this instance (cm/gsi.h) */
	uint32_t num_local;
};

struct instance {
	struct ctl_settings settings; /* of a running instance: with the addresses of its devices */
	struct ctl_profile profile;
	struct loop loop;
	struct loop_source signals;
	struct listeners listeners;
	struct listener clients; /* the control socket */
	struct local_peers local_peers;
	struct instance_life life;
	struct instance_conns conns;
	uint32_t num_devices;
	struct device devices[CTL_DEVICE_MAX];
	struct instance_cm cm;
	struct kept_findings findings;
	struct sysfs *sysfs; /* NULL: no program has asked for it (sysfs.h) */
};

enum instance_result {
	INSTANCE_UP,
	INSTANCE_BUSY,	 /* another server of this instance runs */
	INSTANCE_FAILED, /* explained on the log */
};

enum instance_result instance_init(struct instance *ret, const struct ctl_settings *settings,
				   bool persistent);
/* Serves until a stop request, a signal, or the end of the linger time: 0. A negative errno,
 * explained on the log: the event loop failed. */
int instance_run(struct instance *instance);
void instance_fini(struct instance *instance);

#endif
