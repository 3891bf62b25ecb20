// SPDX-License-Identifier: MIT
/* The picture as tables for people. What is empty is left out. */
#include <stdarg.h>
#include <string.h>

#include "lib/control/client.h"
#include "lib/control/settings.h"
#include "rxe_dm/command/view.h"

#define MAX_ROWS 200 /* of one table; what is left out is said */

struct table {
	FILE *to;
	const char *const *titles;
	const int *widths; /* negative: to the left */
	int columns;
	uint32_t rows, left_out;
};

static void table_cells(const struct table *table, const char *const *cells)
{
	fprintf(table->to, " ");
	for (int i = 0; i < table->columns; i++)
		fprintf(table->to, " %*s", table->widths[i], cells[i]);
	fprintf(table->to, "\n");
}

static void table_row(struct table *table, const char *const *cells)
{
	if (table->rows == 0)
		table_cells(table, table->titles);
	if (++table->rows <= MAX_ROWS)
		table_cells(table, cells);
	else
		table->left_out++;
}

static void table_end(const struct table *table)
{
	if (table->left_out)
		fprintf(table->to, "  ... and %u more: --json lists all\n", table->left_out);
	if (table->rows)
		fprintf(table->to, "\n");
}

#define CELL_MAX 40
typedef char cell[CELL_MAX];

__attribute__((format(printf, 2, 3))) static const char *put(cell ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret, CELL_MAX, format, args);
	va_end(args);
	return ret;
}

/* 65536: "64 KiB"; what is no round number stays in bytes. */
static const char *put_size(cell ret, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	size_t unit = 0;

	while (unit < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	return put(ret, "%llu %s", (unsigned long long)bytes, units[unit]);
}

static void show_head(const struct view *view, FILE *to)
{
	const struct ctl_msg_status *status = &view->status;

	fprintf(to, "instance %s: process %d, version %s, up %llu s, ", status->instance,
		(int)status->pid, status->version,
		(unsigned long long)(status->uptime_ns / 1000000000));
	if (status->persistent)
		fprintf(to, "stays until 'rxe_dm stop'\n");
	else if (status->held & CTL_HELD_BY_FAULTS)
		fprintf(to, "stays while there are fault rules\n");
	else if (status->held & CTL_HELD_BY_CAPTURE)
		fprintf(to, "stays while it is captured\n");
	else
		fprintf(to, "ends %u s after its last program\n", status->linger_s);
}

/* On an interface the device is a host of its own. */
static void show_link(const struct ctl_device *info, FILE *to)
{
	static const struct gid none;
	char text[CTL_GID_STR_MAX], mac[VIEW_MAC_MAX];

	if (info->link != CTL_LINK_ETHERNET)
		return;
	fprintf(to, "  link ethernet: frames on %s, MAC %s", info->if_name,
		view_mac(info->mac, mac));
	if (info->prefix_len)
		fprintf(to, ", network /%u", info->prefix_len);
	if (!gid_equal(&info->gateway, &none))
		fprintf(to, ", gateway %s", ctl_gid_str(&info->gateway, text));
	fprintf(to, "\n");
}

static void show_faults(const struct ctl_shared *shared, FILE *to)
{
	for (int at = view_next_fault(shared, 0); at >= 0;
	     at = view_next_fault(shared, shared->faults.at[at].id))
		fprintf(to, "  fault %u, fired %llu: %s\n", shared->faults.at[at].id,
			(unsigned long long)view_fault_fired(shared, (uint32_t)at),
			shared->faults.at[at].text);
}

static void show_device(const struct view_device *device, FILE *to)
{
	const struct ctl_device *info = &device->info;
	static const struct gid none;
	char text[CTL_GID_STR_MAX];
	cell used, all, locked;

	fprintf(to, "\n%s: %sport %s, %s on %s, MTU %u, trains %s, %u of %u programs\n", info->name,
		atomic_load(&device->shared->faults.fatal) & 1 ? "FATAL, " : "",
		view_port_state(device->shared->port_state), ctl_gid_str(&info->gids[0], text),
		info->if_name[0] ? info->if_name : "no interface", info->max_mtu,
		info->trains ? "on" : "off", info->slots_used, info->slots - 1);
	show_link(info, to);
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		const struct gid *gid = &device->shared->gids[i];

		if (!gid_equal(gid, &none))
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
	static const char *const titles[] = { "PROGRAM", "PID", "SLOT", "QPS",	    "CQS",
					      "SRQS",	 "AHS", "SENT", "RECEIVED", "LOST" };
	static const int widths[] = { -16, 8, 5, 5, 5, 5, 5, 12, 12, 8 };
	struct table table = { to, titles, widths, 10, 0, 0 };

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];
		cell comm, pid, number, qps, cqs, srqs, ahs, sent, rcvd, lost;

		if (!slot->pid)
			continue;
		table_row(&table,
			  (const char *[]){
				  view_plain(comm, sizeof(comm), slot->comm, 15),
				  put(pid, "%d", (int)slot->pid), put(number, "%u", i),
				  put(qps, "%u", view_num_qps(slot)), put(cqs, "%u", slot->num_cqs),
				  put(srqs, "%u", slot->num_srqs), put(ahs, "%u", slot->num_ahs),
				  put(sent, "%llu", (unsigned long long)slot->counters.sent_pkts),
				  put(rcvd, "%llu", (unsigned long long)slot->counters.rcvd_pkts),
				  put(lost, "%llu",
				      (unsigned long long)slot->lost.link_recv_drops) });
	}
	table_end(&table);
}

static void show_contexts(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "CONTEXT", "PID", "USERS", "PDS",
					      "MRS",	 "DMS", "DMAHS", "UMEMS" };
	static const int widths[] = { -8, 8, 6, 5, 6, 5, 6, 6 };
	struct table table = { to, titles, widths, 8, 0, 0 };

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];
		uint32_t h = object->handle;
		cell handle, pid, users, pds, mrs, dms, dmahs, umems;

		if (object->kind != CTL_KIND_CONTEXT)
			continue;
		table_row(&table, (const char *[]){
					  put(handle, "%x", h), put(pid, "%d", (int)object->pid),
					  put(users, "%u", object->users),
					  put(pds, "%u", view_count(device, CTL_KIND_PD, h)),
					  put(mrs, "%u", view_count(device, CTL_KIND_MR, h)),
					  put(dms, "%u", view_count(device, CTL_KIND_DM, h)),
					  put(dmahs, "%u", view_count(device, CTL_KIND_DMAH, h)),
					  put(umems, "%u", view_count(device, CTL_KIND_UMEM, h)) });
	}
	table_end(&table);
}

static void show_qps(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "QP",  "PID", "TYPE",   "STATE", "PEER QP",
					      "MTU", "PD",  "SQ PSN", "RQ PSN" };
	static const int widths[] = { -8, 8, -8, -6, 8, 5, 7, 9, 9 };
	struct table table = { to, titles, widths, 9, 0, 0 };

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];

		for (uint32_t k = 0; slot->pid && k < RXE_MAX_QP; k++) {
			const struct ctl_shared_qp *qp = &slot->qp[k];
			cell qpn, pid, dest, mtu, pd, sq, rq;

			if (!qp->qpn)
				continue;
			table_row(&table,
				  (const char *[]){
					  put(qpn, "%06x", qp->qpn), put(pid, "%d", (int)slot->pid),
					  view_qp_type(qp->type), view_qp_state(qp->state),
					  put(dest, "%06x", qp->dest_qpn),
					  put(mtu, "%u", qp->path_mtu), put(pd, "%x", qp->pd),
					  put(sq, "%u", qp->sq_psn), put(rq, "%u", qp->rq_psn) });
		}
	}
	table_end(&table);
}

static void show_pds(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "PD", "CONTEXT", "IN USE BY" };
	static const int widths[] = { -8, 8, 10 };
	struct table table = { to, titles, widths, 3, 0, 0 };

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];
		cell handle, context, refs;

		if (object->kind == CTL_KIND_PD)
			table_row(&table, (const char *[]){ put(handle, "%x", object->handle),
							    put(context, "%x", object->context),
							    put(refs, "%u", object->refs) });
	}
	table_end(&table);
}

static void show_mrs(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "MR", "KEY",    "PD",   "PID",   "MEMORY",
					      "AT", "LENGTH", "IOVA", "RIGHTS" };
	static const int widths[] = { -8, 8, 7, 8, -8, 14, 12, 14, -1 };
	struct table table = { to, titles, widths, 9, 0, 0 };

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];
		cell handle, key, pd, pid, addr, len, iova;
		char rights[VIEW_RIGHTS_MAX];

		if (object->kind != CTL_KIND_MR)
			continue;
		table_row(&table,
			  (const char *[]){
				  put(handle, "%x", object->handle), put(key, "%08x", object->key),
				  put(pd, "%x", object->pd), put(pid, "%d", (int)object->pid),
				  view_mr_kind(object->mr_kind),
				  put(addr, "%llx", (unsigned long long)object->addr),
				  put(len, "%llu", (unsigned long long)object->len),
				  put(iova, "%llx", (unsigned long long)object->iova),
				  view_rights(object->rights, rights) });
	}
	table_end(&table);
}

static void show_dms(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "DM", "CONTEXT", "OFFSET", "LENGTH", "REGIONS" };
	static const int widths[] = { -8, 8, 12, 12, 8 };
	struct table table = { to, titles, widths, 5, 0, 0 };

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];
		cell handle, context, offset, len, refs;

		if (object->kind == CTL_KIND_DM)
			table_row(&table,
				  (const char *[]){
					  put(handle, "%x", object->handle),
					  put(context, "%x", object->context),
					  put(offset, "%llx", (unsigned long long)object->addr),
					  put(len, "%llu", (unsigned long long)object->len),
					  put(refs, "%u", object->refs) });
	}
	table_end(&table);
}

static const char *memory_type(const struct ctl_dmah *hints)
{
	if (!(hints->valid & CTL_DMAH_TPH_MEM_TYPE))
		return "-";
	return hints->tph_mem_type ? "persistent" : "volatile";
}

/* "-" for a hint that was not given. */
static const char *put_hint(cell ret, const struct ctl_dmah *hints, uint32_t field, uint32_t value)
{
	return hints->valid & field ? put(ret, "%u", value) : put(ret, "-");
}

static void show_dmahs(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "DMAH", "CONTEXT",     "CPU",
					      "PH",   "MEMORY TYPE", "REGIONS" };
	static const int widths[] = { -8, 8, 5, 4, 11, 8 };
	struct table table = { to, titles, widths, 6, 0, 0 };

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];
		const struct ctl_dmah *hints = &object->hints;
		cell handle, context, cpu, ph, refs;

		if (object->kind == CTL_KIND_DMAH)
			table_row(&table,
				  (const char *[]){
					  put(handle, "%x", object->handle),
					  put(context, "%x", object->context),
					  put_hint(cpu, hints, CTL_DMAH_CPU_ID, hints->cpu_id),
					  put_hint(ph, hints, CTL_DMAH_PH, hints->ph),
					  memory_type(hints), put(refs, "%u", object->refs) });
	}
	table_end(&table);
}

static void show_xrcds(const struct view_device *device, FILE *to)
{
	static const char *const titles[] = { "XRCD", "CONTEXT", "DOMAIN", "OF INODE" };
	static const int widths[] = { -8, 8, 7, -20 };
	struct table table = { to, titles, widths, 4, 0, 0 };

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];
		cell handle, context, domain, inode;

		if (object->kind != CTL_KIND_XRCD)
			continue;
		if (object->addr)
			put(inode, "%llu of device %llx", (unsigned long long)object->addr,
			    (unsigned long long)object->len);
		else
			put(inode, "none");
		table_row(&table, (const char *[]){ put(handle, "%x", object->handle),
						    put(context, "%x", object->context),
						    put(domain, "%u", object->key), inode });
	}
	table_end(&table);
}

static void show_counters(const struct view_device *device, FILE *to)
{
	struct rxe_counters counters;
	struct ctl_lost lost;
	int shown = 0;

	view_counters(device, &counters);
	view_lost(device, &lost);
#define X(name)                                                                                    \
	if (counters.name)                                                                         \
		shown += fprintf(to, "  %-24s %llu\n", #name, (unsigned long long)counters.name);
	RXE_COUNTERS(X)
#undef X
#define X(name)                                                                                    \
	if (lost.name)                                                                             \
		shown += fprintf(to, "  %-24s %llu\n", #name, (unsigned long long)lost.name);
	CTL_LOST(X)
#undef X
	if (!shown)
		fprintf(to, "  all counters are zero\n");
}

void show_table(const struct view *view, FILE *to)
{
	show_head(view, to);
	for (uint32_t i = 0; i < view->num_devices; i++) {
		const struct view_device *device = &view->device[i];

		show_device(device, to);
		show_programs(device, to);
		show_contexts(device, to);
		show_qps(device, to);
		show_pds(device, to);
		show_mrs(device, to);
		show_dms(device, to);
		show_dmahs(device, to);
		show_xrcds(device, to);
		show_failures(device, to);
		show_counters(device, to);
	}
}
