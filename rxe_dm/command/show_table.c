// SPDX-License-Identifier: MIT
/* The picture as tables for people. What is empty is left out. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "lib/control/client.h"
#include "lib/control/settings.h"
#include "lib/control/shared.h"
#include "rxe_dm/command/view.h"

#define MAX_ROWS 200 /* of one table */

struct table {
	const struct view_device *device;
	FILE *to;
	const char *titles;
	uint32_t rows;
};

static __attribute__((format(printf, 2, 3))) void row(struct table *table, const char *format, ...)
{
	va_list args;

	if (table->rows == 0)
		fputs(table->titles, table->to);
	if (++table->rows > MAX_ROWS)
		return;
	va_start(args, format);
	vfprintf(table->to, format, args);
	va_end(args);
}

static void end(const struct table *table)
{
	if (table->rows > MAX_ROWS)
		fprintf(table->to, "  ... and %u more: --json lists all\n", table->rows - MAX_ROWS);
	if (table->rows)
		fprintf(table->to, "\n");
}

#define CELL_MAX 32
/* 65536: "64 KiB"; what is no round number stays in bytes. */
static const char *put_size(char ret[static CELL_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	size_t unit = 0;

	while (unit < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(ret, CELL_MAX, "%" PRIu64 " %s", bytes, units[unit]);
	return ret;
}

static void show_head(const struct view *view, FILE *to)
{
	const struct ctl_msg_status *status = &view->status;

	fprintf(to, "instance %s: process %d, version %s, up %" PRIu64 " s, ", status->instance,
		(int)status->pid, status->version, (status->uptime_ns / 1000000000));
	if (status->persistent)
		fprintf(to, "stays until 'rxe_dm stop'\n");
	else if (status->held & CTL_HELD_BY_FAULTS)
		fprintf(to, "stays while there are fault rules\n");
	else if (status->held & CTL_HELD_BY_CAPTURE)
		fprintf(to, "stays while it is captured\n");
	else
		fprintf(to, "ends %u s after its last program\n", status->linger_s);
}

/* What is particular to the link. On an interface the device is a host of its own. */
static void show_link(const struct ctl_device *info, FILE *to)
{
	char text[CTL_GID_STR_MAX], mac[VIEW_MAC_MAX];

	if (info->link == CTL_LINK_MEMORY)
		fprintf(to, "  link memory: between programs of this device, ICRC %s%s\n",
			info->icrc ? "on" : "off",
			info->link_fallback ? "; this kernel or sandbox cannot steer UDP sockets"
					    : "");
	if (info->link != CTL_LINK_ETHERNET)
		return;
	fprintf(to, "  link ethernet: frames on %s, MAC %s", info->if_name,
		view_mac(info->mac, mac));
	if (info->prefix_len)
		fprintf(to, ", network /%u", info->prefix_len);
	if (!gid_is_zero(&info->gateway))
		fprintf(to, ", gateway %s", ctl_gid_str(&info->gateway, text));
	fprintf(to, "\n");
}

static void show_faults(const struct ctl_shared *shared, FILE *to)
{
	for (int at = view_next_fault(shared, 0); at >= 0;
	     at = view_next_fault(shared, shared->faults.at[at].id))
		fprintf(to, "  fault %u, fired %" PRIu64 ": %s\n", shared->faults.at[at].id,
			view_fault_fired(shared, (uint32_t)at), shared->faults.at[at].text);
}

static void show_device(const struct view_device *device, FILE *to)
{
	const struct ctl_device *info = &device->info;
	char text[CTL_GID_STR_MAX];
	char used[CELL_MAX], all[CELL_MAX], locked[CELL_MAX];

	fprintf(to, "\n%s: %sport %s, %s on %s, MTU %u, trains %s, %u of %u programs\n", info->name,
		atomic_load(&device->shared->faults.fatal) & 1 ? "FATAL, " : "",
		view_port_state(device->shared->port_state), ctl_gid_str(&info->gids[0], text),
		info->if_name[0] ? info->if_name : "no interface", info->max_mtu,
		info->trains ? "on" : "off", info->slots_used, info->slots - 1);
	show_link(info, to);
	if (strcmp(info->profile.name, "default") != 0)
		fprintf(to, "  profile %s: 'rxe_dm show --limits' lists it\n", info->profile.name);
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		const struct gid *gid = &device->shared->gids[i];

		if (!gid_is_zero(gid))
			fprintf(to, "  GID %u: %s%s, RoCE v2\n", i, gid_is_v4(gid) ? "::ffff:" : "",
				ctl_gid_str(gid, text));
	}
	show_faults(device->shared, to);
	fprintf(to, "  device memory: %s of %s in use, %s (%s), %s locked\n\n",
		put_size(used, info->arena_used), put_size(all, info->arena_bytes),
		info->arena_kind, info->arena_why, put_size(locked, info->arena_locked));
}

static void show_programs(const struct view_device *device, FILE *to)
{
	struct table table = { .device = device,
			       .to = to,
			       .titles = "  PROGRAM               PID  SLOT   QPS         SENT     "
					 "RECEIVED     LOST\n" };

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];
		char comm[16];

		if (!slot->pid)
			continue;
		row(&table, "  %-16s %8d %5u %5u %12" PRIu64 " %12" PRIu64 " %8" PRIu64 "\n",
		    view_plain(comm, sizeof(comm), slot->comm, 15), (int)slot->pid, i,
		    view_num_qps(slot), slot->counters.sent_pkts, slot->counters.rcvd_pkts,
		    slot->lost.link_recv_drops);
	}
	end(&table);
}

/* A table of the objects of one kind. */
static void show_objects(const struct view_device *device, FILE *to, enum ctl_kind kind,
			 const char *titles,
			 void (*put)(struct table *table, const struct ctl_object *object))
{
	struct table table = { .device = device, .to = to, .titles = titles };

	for (size_t i = 0; i < device->num_objects; i++) {
		if (device->objects[i].kind == (uint32_t)kind)
			put(&table, &device->objects[i]);
	}
	end(&table);
}

static void put_context(struct table *table, const struct ctl_object *context)
{
	row(table, "  %-8x %8d %6u %5u %6u %5u %6u %6u\n", context->handle, (int)context->pid,
	    context->users, view_count(table->device, CTL_KIND_PD, context->handle),
	    view_count(table->device, CTL_KIND_MR, context->handle),
	    view_count(table->device, CTL_KIND_DM, context->handle),
	    view_count(table->device, CTL_KIND_DMAH, context->handle),
	    view_count(table->device, CTL_KIND_UMEM, context->handle));
}

static void show_qps(const struct view_device *device, FILE *to)
{
	struct table table = { .device = device,
			       .to = to,
			       .titles = "  QP            PID TYPE     STATE   PEER QP   MTU      "
					 "PD    SQ PSN    RQ PSN\n" };

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		for (uint32_t k = 0; slot->pid && k < RXE_MAX_QP; k++) {
			const struct ctl_shared_qp *qp = &slot->qp[k];

			if (!qp->qpn)
				continue;
			row(&table, "  %06x   %8d %-8s %-6s   %06x %5u %7x %9u %9u\n", qp->qpn,
			    (int)slot->pid, view_qp_type(qp->type), view_qp_state(qp->state),
			    qp->dest_qpn, qp->path_mtu, qp->pd, qp->sq_psn, qp->rq_psn);
		}
	}
	end(&table);
}

static void put_pd(struct table *table, const struct ctl_object *pd)
{
	row(table, "  %-8x %8x %10u\n", pd->handle, pd->context, pd->refs);
}

static const char *put_len(char ret[static CELL_MAX], uint64_t len)
{
	if (len == UINT64_MAX)
		return "all"; /* an implicit on-demand region */
	snprintf(ret, CELL_MAX, "%" PRIu64, len);
	return ret;
}

static void put_mr(struct table *table, const struct ctl_object *mr)
{
	char rights[VIEW_RIGHTS_MAX], len[CELL_MAX];

	row(table, "  %-8x %08x %7x %8d %-8s %14" PRIx64 " %12s %14" PRIx64 " %s\n", mr->handle,
	    mr->key, mr->pd, (int)mr->pid, view_mr_kind(mr->mr_kind), mr->addr,
	    put_len(len, mr->len), mr->iova, view_rights(mr->rights, rights));
}

static void put_mw(struct table *table, const struct ctl_object *mw)
{
	const struct view_binding bound = view_binding(table->device, mw);
	char rights[VIEW_RIGHTS_MAX];

	if (bound.key)
		row(table, "  %-8x %08x %7x %8d %-4s %08x   %06x %16" PRIu64 " %14" PRIx64 " %s\n",
		    mw->handle, bound.key, mw->pd, (int)mw->pid, view_mr_kind(mw->mr_kind),
		    bound.region, bound.qpn, bound.len, bound.iova,
		    view_rights(bound.rights, rights));
	else
		row(table, "  %-8x %08x %7x %8d %-4s not bound\n", mw->handle, mw->key, mw->pd,
		    (int)mw->pid, view_mr_kind(mw->mr_kind));
}

static void put_dm(struct table *table, const struct ctl_object *dm)
{
	row(table, "  %-8x %8x %12" PRIx64 " %12" PRIu64 " %8u\n", dm->handle, dm->context,
	    dm->addr, dm->len, dm->refs);
}

static const char *memory_type(const struct ctl_dmah *hints)
{
	if (!(hints->valid & CTL_DMAH_TPH_MEM_TYPE))
		return "-";
	return hints->tph_mem_type ? "persistent" : "volatile";
}

/* "-" for a hint that was not given. */
static const char *put_hint(char ret[static CELL_MAX], const struct ctl_dmah *hints, uint32_t field,
			    uint32_t value)
{
	snprintf(ret, CELL_MAX, hints->valid & field ? "%u" : "-", value);
	return ret;
}

static void put_dmah(struct table *table, const struct ctl_object *dmah)
{
	char cpu[CELL_MAX], ph[CELL_MAX];

	row(table, "  %-8x %8x %5s %4s %11s %8u\n", dmah->handle, dmah->context,
	    put_hint(cpu, &dmah->hints, CTL_DMAH_CPU_ID, dmah->hints.cpu_id),
	    put_hint(ph, &dmah->hints, CTL_DMAH_PH, dmah->hints.ph), memory_type(&dmah->hints),
	    dmah->refs);
}

static void put_xrcd(struct table *table, const struct ctl_object *xrcd)
{
	if (xrcd->addr)
		row(table, "  %-8x %8x %7u %" PRIu64 " of device %" PRIx64 "\n", xrcd->handle,
		    xrcd->context, xrcd->key, xrcd->addr, xrcd->len);
	else
		row(table, "  %-8x %8x %7u none\n", xrcd->handle, xrcd->context, xrcd->key);
}

static void show_counters(const struct view_device *device, FILE *to)
{
	struct rxe_counters counters;
	struct ctl_lost lost;
	int shown = 0;

	ctl_total_counters(device->shared, &counters);
	ctl_total_lost(device->shared, &lost);
#define X(name)                                                                                    \
	if (counters.name)                                                                         \
		shown += fprintf(to, "  %-24s %" PRIu64 "\n", #name, counters.name);
	RXE_COUNTERS(X)
#undef X
#define X(name)                                                                                    \
	if (lost.name)                                                                             \
		shown += fprintf(to, "  %-24s %" PRIu64 "\n", #name, lost.name);
	CTL_LOST(X)
#undef X
	if (!shown)
		fprintf(to, "  all counters are zero\n");
}

static void show_all(const struct view_device *device, FILE *to)
{
	show_device(device, to);
	show_programs(device, to);
	show_stopped(device, to);
	show_objects(device, to, CTL_KIND_CONTEXT,
		     "  CONTEXT       PID  USERS   PDS    MRS   DMS  DMAHS  UMEMS\n", put_context);
	show_qps(device, to);
	show_objects(device, to, CTL_KIND_PD, "  PD        CONTEXT  IN USE BY\n", put_pd);
	show_objects(device, to, CTL_KIND_MR,
		     "  MR            KEY      PD      PID MEMORY               "
		     "AT       LENGTH           IOVA RIGHTS\n",
		     put_mr);
	show_objects(device, to, CTL_KIND_MW,
		     "  MW            KEY      PD      PID TYPE   REGION      QPN    "
		     "       LENGTH           IOVA RIGHTS\n",
		     put_mw);
	show_objects(device, to, CTL_KIND_DM,
		     "  DM        CONTEXT       OFFSET       LENGTH  REGIONS\n", put_dm);
	show_objects(device, to, CTL_KIND_DMAH,
		     "  DMAH      CONTEXT   CPU   PH MEMORY TYPE  REGIONS\n", put_dmah);
	show_objects(device, to, CTL_KIND_XRCD, "  XRCD      CONTEXT  DOMAIN OF INODE\n", put_xrcd);
	show_failures(device, to);
	show_refusals(device, to);
	show_counters(device, to);
}

void show_table(const struct view *view, FILE *to)
{
	show_head(view, to);
	for (uint32_t i = 0; i < view->num_devices; i++)
		show_all(&view->device[i], to);
	show_ids(view, to);
	show_cm_failures(view, to);
}
