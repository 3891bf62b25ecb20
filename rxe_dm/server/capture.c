// SPDX-License-Identifier: MIT
/* Begin and end of captures: memory for the rings, and a message to every process of the device
 * that has joined them. Several captures share the rings, which hold what any of them wants. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/client.h"
#include "lib/control/socket.h"
#include "net/link/capture/ring.h"
#include "net/link/clock.h"
#include "net/wire/cm_msg.h"
#include "net/wire/packet.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"

/* A process with a full queue misses the message: the capturing command names it. */
static void tell(const struct attachment *attachment)
{
	const struct ctl_event event = { .type = CTL_EVENT_CAPTURE };
	const int *fd = &attachment->device->captures.fd;

	/* Without a descriptor: no capture runs any more. */
	ctl_send(attachment->event.fd, &event, sizeof(event), fd, *fd >= 0, MSG_DONTWAIT);
}

int serve_join_captures(struct call *call)
{
	if (!call->attachment)
		return -EINVAL;
	call->attachment->in_captures = true;
	if (call->device->captures.running)
		tell(call->attachment);
	return 0;
}

static void tell_all(const struct device *device)
{
	for (uint32_t slot = 1; slot < RXE_MAX_SLOTS; slot++) {
		if (device->slots.at[slot] && device->slots.at[slot]->in_captures)
			tell(device->slots.at[slot]);
	}
}

/* Maps the first page and the ring of slot 0, which is the server's. */
static int map_rings(struct device *device, int fd, uint32_t ring_bytes)
{
	const size_t bytes = capture_ring_offset(ring_bytes, 1);
	struct capture_writer *writer = (struct capture_writer *)calloc(1, sizeof(*writer));
	void *base =
		writer ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (base == MAP_FAILED) {
		free(writer);
		return -ENOMEM;
	}
	device->captures.fd = fd;
	device->captures.area = (struct capture_area *)base;
	device->captures.area->rings = RXE_MAX_SLOTS;
	device->captures.area->ring_bytes = ring_bytes;
	device->captures.area->magic = CAPTURE_MAGIC;
	device->captures.writer = writer;
	capture_writer_open(
		writer,
		(struct capture_ring *)(void *)((char *)base + capture_ring_offset(ring_bytes, 0)),
		ring_bytes, (int32_t)getpid(), "rxe_dm");
	return 0;
}

/* Pages that are never written are never allocated, so a ring for each slot costs nothing. */
static int open_rings(struct device *device, uint32_t ring_bytes)
{
	const size_t bytes = capture_ring_offset(ring_bytes, RXE_MAX_SLOTS);
	const int fd = memfd_create("rxe_dm capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	assert(!device->captures.area && device->captures.fd < 0);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		rc = -errno;
	else
		rc = map_rings(device, fd, ring_bytes);
	if (rc)
		close(fd);
	return rc;
}

static void write_down(const struct device *device, struct capture_record *record,
		       const uint8_t *packet, const char *note)
{
	struct capture_writer *writer = device->captures.writer;

	capture_writer_begin(writer);
	capture_writer_at(writer, clock_now_ns());
	capture_writer_put(writer, record, packet, atomic_load(&device->captures.area->keep), note);
	capture_writer_end(writer);
}

/* The server sends and receives for QP 1, and for RC queue pairs of processes that have exited. */
static uint8_t type_of(uint32_t qpn)
{
	return qpn == MAD_GSI_QPN ? IBV_QPT_UD : IBV_QPT_RC;
}

void capture_own(const struct device *device, const struct wire_train *packet, uint32_t qpn,
		 uint16_t src_port)
{
	struct capture_record record = {
		.flags = CAPTURE_SENT | CAPTURE_HAS_QP,
		.src = device->link.gid,
		.dst = packet->dst,
		.src_port = src_port,
		.len = packet->len,
		.qpn = qpn,
		.qp_type = type_of(qpn),
		.hop_limit = 64,
	};

	if (device->captures.writer)
		write_down(device, &record, packet->buf,
			   qpn == MAD_GSI_QPN ? "sent by the connection manager"
					      : "sent by the server for a process that has exited");
}

uint32_t capture_qpn(const struct wire_arrival *arrival)
{
	struct bth bth = { 0 };

	if (arrival->len >= BTH_LEN)
		bth_parse(&bth, arrival->p);
	return bth.dest_qpn;
}

void capture_arrived(const struct device *device, const struct wire_arrival *arrivals, uint32_t n)
{
	for (uint32_t i = 0; i < n && device->captures.writer; i++) {
		const struct wire_arrival *arrival = &arrivals[i];
		const bool guessed = arrival->id_rule != IP_ID_EXACT && gid_is_v4(&arrival->dst);
		struct capture_record record = {
			.flags = CAPTURE_HAS_QP | (guessed ? CAPTURE_GUESSED_ID : 0),
			.src = arrival->src,
			.dst = arrival->dst,
			.src_port = arrival->src_port,
			.len = arrival->len,
			.qpn = capture_qpn(arrival),
			.qp_type = type_of(capture_qpn(arrival)),
			.ip_id = arrival->ip_id,
			.traffic_class = arrival->traffic_class,
			.hop_limit = arrival->hop_limit,
			.flow_label = arrival->flow_label,
		};

		if (!gid_equal(&arrival->src, &device->link.gid))
			write_down(device, &record, arrival->p,
				   record.qpn == MAD_GSI_QPN ? "to the connection manager"
							     : "to a process that has exited");
	}
}

static void close_rings(struct device *device)
{
	assert(device->captures.area && !device->captures.running);
	munmap(device->captures.area, capture_ring_offset(device->captures.writer->ring_bytes, 1));
	free(device->captures.writer);
	device->captures.writer = NULL;
	close(device->captures.fd);
	device->captures.area = NULL;
	device->captures.fd = -1;
}

static void update_wants(struct device *device)
{
	const struct capture *capture;
	uint32_t keep = 0, inside = 0;

	DL_FOREACH (device->captures.running, capture) {
		keep = capture->wants.keep > keep ? capture->wants.keep : keep;
		inside |= capture->wants.inside;
	}
	atomic_store(&device->captures.area->keep, keep);
	atomic_store(&device->captures.area->inside, inside);
}

static bool is_sound(const struct ctl_msg_capture *wants)
{
	return capture_ring_bytes_valid(wants->ring_bytes) && wants->keep > 0 && wants->inside <= 1;
}

int serve_capture(struct call *call)
{
	struct device *device = call->device;
	const bool first = !device->captures.running;
	struct capture *capture;
	int rc;

	if (!is_sound(&call->req.capture))
		return -EINVAL;
	capture = (struct capture *)calloc(1, sizeof(*capture));
	if (!capture)
		return -ENOMEM;
	rc = first ? open_rings(device, call->req.capture.ring_bytes) : 0;
	if (rc) {
		free(capture);
		return rc;
	}
	capture->device = device;
	capture->wants = call->req.capture;
	DL_APPEND(device->captures.running, capture);
	DL_APPEND2(call->conn->captures, capture, cprev, cnext);
	update_wants(device);
	if (first)
		tell_all(device);
	call->out_fd[0] = device->captures.fd;
	call->num_out = call->keep_out = 1;
	return 0;
}

static void end(struct capture *capture)
{
	struct device *device = capture->device;

	DL_DELETE(device->captures.running, capture);
	free(capture);
	if (device->captures.running) {
		update_wants(device);
		return;
	}
	close_rings(device);
	tell_all(device);
}

void captures_end(struct conn *conn)
{
	struct capture *capture, *next;

	DL_FOREACH_SAFE2(conn->captures, capture, next, cnext)
	{
		DL_DELETE2(conn->captures, capture, cprev, cnext);
		end(capture);
	}
}
