// SPDX-License-Identifier: MIT
/* The picture as JSON: the same facts as the tables, all of them, numbers as numbers. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "lib/control/client.h"
#include "lib/control/settings.h"
#include "lib/control/shared.h"
#include "rxe_dm/command/view.h"

static void set_number(json_t *to, const char *name, uint64_t value)
{
	/* The length of an implicit on-demand region is 2^64 - 1. */
	json_object_set_new(to, name,
			    value > INT64_MAX ? json_real((double)value)
					      : json_integer((json_int_t)value));
}

static void set_string(json_t *to, const char *name, const char *value)
{
	json_t *string = json_string(value);

	/* The name of a program need not be UTF-8. */
	json_object_set_new(to, name, string ? string : json_string("?"));
}

static void set_bool(json_t *to, const char *name, bool value)
{
	json_object_set_new(to, name, json_boolean(value));
}

static json_t *json_counters(const struct rxe_counters *counters, const struct ctl_lost *lost)
{
	json_t *ret = json_object();

#define X(name) set_number(ret, #name, counters->name);
	RXE_COUNTERS(X)
#undef X
#define X(name) set_number(ret, #name, lost->name);
	CTL_LOST(X)
#undef X
	return ret;
}

static json_t *json_qp(const struct ctl_shared_qp *qp)
{
	json_t *ret = json_object();

	set_number(ret, "qpn", qp->qpn);
	set_string(ret, "type", view_qp_type(qp->type));
	set_string(ret, "state", view_qp_state(qp->state));
	set_number(ret, "pd", qp->pd);
	set_number(ret, "dest_qpn", qp->dest_qpn);
	set_number(ret, "path_mtu", qp->path_mtu);
	set_number(ret, "sq_psn", qp->sq_psn);
	set_number(ret, "rq_psn", qp->rq_psn);
	return ret;
}

static json_t *json_program(const struct ctl_shared *shared, uint32_t index)
{
	const struct ctl_slot *slot = &shared->slot[index];
	json_t *ret = json_object(), *qps = json_array();
	char comm[16];

	memcpy(comm, slot->comm, 15);
	comm[15] = '\0';
	set_number(ret, "pid", (uint64_t)slot->pid);
	set_string(ret, "comm", comm);
	set_number(ret, "slot", index);
	for (uint32_t i = 0; i < RXE_MAX_QP; i++) {
		if (slot->qp[i].qpn)
			json_array_append_new(qps, json_qp(&slot->qp[i]));
	}
	show_json_stopped(ret, shared, index);
	json_object_set_new(ret, "qps", qps);
	json_object_set_new(ret, "counters", json_counters(&slot->counters, &slot->lost));
	return ret;
}

static json_t *json_programs(const struct view_device *device)
{
	json_t *ret = json_array();

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		if (device->shared->slot[i].pid)
			json_array_append_new(ret, json_program(device->shared, i));
	}
	return ret;
}

static void set_mr(json_t *ret, const struct ctl_object *object)
{
	char rights[VIEW_RIGHTS_MAX];

	set_number(ret, "pd", object->pd);
	set_number(ret, "key", object->key);
	set_string(ret, "memory", view_mr_kind(object->mr_kind));
	set_number(ret, "addr", object->addr);
	set_number(ret, "length", object->len);
	set_number(ret, "iova", object->iova);
	set_string(ret, "rights", view_rights(object->rights, rights));
	set_number(ret, "dm", object->dm);
	set_number(ret, "dmah", object->dmah);
	set_number(ret, "umem", object->umem);
}

static void set_hints(json_t *ret, const struct ctl_dmah *hints)
{
	if (hints->valid & CTL_DMAH_CPU_ID)
		set_number(ret, "cpu_id", hints->cpu_id);
	if (hints->valid & CTL_DMAH_PH)
		set_number(ret, "ph", hints->ph);
	if (hints->valid & CTL_DMAH_TPH_MEM_TYPE)
		set_number(ret, "tph_mem_type", hints->tph_mem_type);
}

static void set_mw(json_t *ret, const struct view_device *device, const struct ctl_object *object)
{
	const struct view_binding bound = view_binding(device, object);
	char rights[VIEW_RIGHTS_MAX];

	set_number(ret, "pd", object->pd);
	set_string(ret, "type", view_mr_kind(object->mr_kind));
	set_number(ret, "key", bound.key ? bound.key : object->key);
	set_bool(ret, "bound", bound.key != 0);
	if (!bound.key)
		return;
	set_number(ret, "region", bound.region);
	set_number(ret, "addr", bound.at);
	set_number(ret, "length", bound.len);
	set_number(ret, "iova", bound.iova);
	set_string(ret, "rights", view_rights(bound.rights, rights));
	if (bound.qpn)
		set_number(ret, "qpn", bound.qpn);
}

static json_t *json_object_of(const struct view_device *device, const struct ctl_object *object)
{
	json_t *ret = json_object();

	set_number(ret, "handle", object->handle);
	set_number(ret, "context", object->context);
	set_number(ret, "refs", object->refs);
	if (object->pid)
		set_number(ret, "pid", (uint64_t)object->pid);
	switch ((enum ctl_kind)object->kind) {
	case CTL_KIND_CONTEXT: set_number(ret, "users", object->users); break;
	case CTL_KIND_MR: set_mr(ret, object); break;
	case CTL_KIND_MW: set_mw(ret, device, object); break;
	case CTL_KIND_DM:
		set_number(ret, "offset", object->addr);
		set_number(ret, "length", object->len);
		break;
	case CTL_KIND_UMEM:
		set_string(ret, "memory", view_mr_kind(object->mr_kind));
		set_number(ret, "addr", object->addr);
		set_number(ret, "length", object->len);
		break;
	case CTL_KIND_DMAH: set_hints(ret, &object->hints); break;
	case CTL_KIND_XRCD:
		set_number(ret, "domain", object->key);
		set_number(ret, "inode", object->addr);
		set_number(ret, "inode_device", object->len);
		break;
	case CTL_KIND_QP:
		set_number(ret, "qpn", object->key);
		set_number(ret, "domain", object->addr);
		break;
	case CTL_KIND_PD:
	case CTL_KIND_FREE: break;
	}
	return ret;
}

static void set_objects(json_t *to, const struct view_device *device)
{
	static const struct {
		enum ctl_kind kind;
		const char *name;
	} lists[] = {
		{ CTL_KIND_CONTEXT, "contexts" }, { CTL_KIND_PD, "pds" },
		{ CTL_KIND_MR, "mrs" },		  { CTL_KIND_DM, "dms" },
		{ CTL_KIND_DMAH, "dmahs" },	  { CTL_KIND_UMEM, "umems" },
		{ CTL_KIND_XRCD, "xrcds" },	  { CTL_KIND_MW, "mws" },
		{ CTL_KIND_QP, "xrc_targets" },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		json_t *list = json_array();

		for (size_t k = 0; k < device->num_objects; k++) {
			if (device->objects[k].kind == (uint32_t)lists[i].kind)
				json_array_append_new(list,
						      json_object_of(device, &device->objects[k]));
		}
		json_object_set_new(to, lists[i].name, list);
	}
}

static json_t *json_gids(const struct ctl_shared *shared)
{
	json_t *ret = json_array();

	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		char text[CTL_GID_STR_MAX + 8], address[CTL_GID_STR_MAX];
		json_t *gid;

		if (gid_is_zero(&shared->gids[i]))
			continue;
		gid = json_object();
		snprintf(text, sizeof(text), "%s%s", gid_is_v4(&shared->gids[i]) ? "::ffff:" : "",
			 ctl_gid_str(&shared->gids[i], address));
		set_number(gid, "index", i);
		set_string(gid, "gid", text);
		set_string(gid, "type", "RoCE v2");
		json_array_append_new(ret, gid);
	}
	return ret;
}

static json_t *json_arena(const struct ctl_device *info)
{
	json_t *ret = json_object();

	set_number(ret, "bytes", info->arena_bytes);
	set_number(ret, "used", info->arena_used);
	set_number(ret, "locked", info->arena_locked);
	set_string(ret, "kind", info->arena_kind);
	set_string(ret, "why", info->arena_why);
	return ret;
}

static void set_link(json_t *ret, const struct ctl_device *info)
{
	char text[CTL_GID_STR_MAX], mac[VIEW_MAC_MAX];

	set_string(ret, "link", view_link(info->link));
	set_string(ret, "interface", info->if_name);
	if (info->link == CTL_LINK_MEMORY) {
		set_bool(ret, "icrc", info->icrc);
		set_bool(ret, "link_fallback", info->link_fallback != 0);
	}
	if (info->link != CTL_LINK_ETHERNET)
		return;
	set_string(ret, "mac", view_mac(info->mac, mac));
	if (info->prefix_len)
		set_number(ret, "prefix_len", info->prefix_len);
	if (!gid_is_zero(&info->gateway))
		set_string(ret, "gateway", ctl_gid_str(&info->gateway, text));
}

/* What a process has written need not end. */
static void set_bounded(json_t *to, const char *name, const char *value, size_t max)
{
	char copy[CTL_FAILURE_WHY] = "";

	memcpy(copy, value, strnlen(value, max < sizeof(copy) ? max : sizeof(copy) - 1));
	set_string(to, name, copy);
}

static json_t *json_packets(const struct ctl_failure *failure)
{
	json_t *ret = json_array();

	for (uint32_t i = 0; i < failure->num_packets && i < CTL_FAILURE_PACKETS; i++) {
		char text[VIEW_PACKET_MAX];
		json_t *packet = json_object();

		set_number(packet, "ns_before",
			   failure->time_ns > failure->packet[i].time_ns
				   ? failure->time_ns - failure->packet[i].time_ns
				   : 0);
		set_string(packet, "text", view_packet(&failure->packet[i], text));
		json_array_append_new(ret, packet);
	}
	return ret;
}

static json_t *json_failures(const struct view_device *device)
{
	const struct ctl_failure *failures[VIEW_MAX_FAILURES];
	const size_t count = view_failures(device, failures);
	json_t *ret = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct ctl_failure *failure = failures[i];
		json_t *one = json_object();

		set_number(one, "time_ns", failure->epoch_ns);
		set_number(one, "pid", (uint64_t)failure->pid);
		set_bounded(one, "comm", failure->comm, sizeof(failure->comm));
		set_number(one, "qpn", failure->qpn);
		set_string(one, "type", view_qp_type(failure->type));
		set_number(one, "dest_qpn", failure->dest_qpn);
		set_string(one, "status", view_wc_status(failure->status));
		if (failure->has_wr)
			set_number(one, "wr_id", failure->wr_id);
		set_bounded(one, "cause", failure->why, sizeof(failure->why));
		json_object_set_new(one, "packets", json_packets(failure));
		json_array_append_new(ret, one);
	}
	return ret;
}

json_t *show_json_faults(const struct ctl_shared *shared)
{
	json_t *ret = json_array();

	for (int at = view_next_fault(shared, 0); at >= 0;
	     at = view_next_fault(shared, shared->faults.at[at].id)) {
		json_t *one = json_object();

		set_number(one, "number", shared->faults.at[at].id);
		set_string(one, "rule", shared->faults.at[at].text);
		set_number(one, "fired", view_fault_fired(shared, (uint32_t)at));
		json_array_append_new(ret, one);
	}
	return ret;
}

static json_t *json_profile(const struct ctl_profile *profile)
{
	json_t *ret = json_object();
	char value[CTL_PROFILE_TEXT];

	set_string(ret, "name", profile->name);
	for (size_t i = 0; i < ctl_key_count; i++) {
		const struct ctl_key *key = &ctl_key_table[i];
		const char *text = ctl_key_value(key, profile, value);

		if (key->kind == CTL_KEY_NUMBER || key->kind == CTL_KEY_SIZE)
			set_number(ret, key->key, strtoull(text, NULL, 10));
		else
			set_string(ret, key->key, text);
	}
	return ret;
}

static json_t *json_device(const struct view_device *device)
{
	const struct ctl_device *info = &device->info;
	json_t *ret = json_object();
	struct rxe_counters counters;
	struct ctl_lost lost;
	char text[CTL_GID_STR_MAX];

	set_string(ret, "name", info->name);
	set_string(ret, "port_state", view_port_state(device->shared->port_state));
	set_bool(ret, "fatal", atomic_load(&device->shared->faults.fatal) & 1);
	set_string(ret, "address", ctl_gid_str(&info->gids[0], text));
	set_link(ret, info);
	set_number(ret, "max_mtu", info->max_mtu);
	json_object_set_new(ret, "profile", json_profile(&info->profile));
	set_bool(ret, "trains", info->trains);
	set_bool(ret, "mlx5", info->mlx5);
	set_bool(ret, "raw_privilege", info->raw_privilege);
	set_string(ret, "stopped", info->stopped == CTL_STOPPED_WAIT ? "wait" : "lose");
	set_number(ret, "slots", info->slots - 1);
	set_number(ret, "slots_used", info->slots_used);
	set_number(ret, "receive_buffer", info->rcvbuf);
	json_object_set_new(ret, "gids", json_gids(device->shared));
	json_object_set_new(ret, "faults", show_json_faults(device->shared));
	json_object_set_new(ret, "arena", json_arena(info));
	json_object_set_new(ret, "programs", json_programs(device));
	set_objects(ret, device);
	json_object_set_new(ret, "failures", json_failures(device));
	json_object_set_new(ret, "refusals", show_json_refusals(device));
	ctl_total_counters(device->shared, &counters);
	ctl_total_lost(device->shared, &lost);
	json_object_set_new(ret, "counters", json_counters(&counters, &lost));
	return ret;
}

static uint64_t epoch_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int show_json(const struct view *view, FILE *to)
{
	const struct ctl_msg_status *status = &view->status;
	json_t *root = json_object(), *devices = json_array();
	int rc;

	set_string(root, "instance", status->instance);
	set_number(root, "pid", (uint64_t)status->pid);
	set_string(root, "version", status->version);
	set_number(root, "time_ns", epoch_ns());
	set_number(root, "uptime_s", status->uptime_ns / 1000000000);
	set_bool(root, "persistent", status->persistent);
	set_number(root, "linger_s", status->linger_s);
	set_bool(root, "held_by_faults", status->held & CTL_HELD_BY_FAULTS);
	set_bool(root, "held_by_capture", status->held & CTL_HELD_BY_CAPTURE);
	for (uint32_t i = 0; i < view->num_devices; i++)
		json_array_append_new(devices, json_device(&view->device[i]));
	json_object_set_new(root, "devices", devices);
	json_object_set_new(root, "rdma_ids", show_json_ids(view));
	json_object_set_new(root, "rdma_failures", show_json_cm_failures(view));
	rc = json_dumpf(root, to, JSON_INDENT(2)) ? -EIO : 0;
	fputc('\n', to);
	json_decref(root);
	return rc;
}
