// SPDX-License-Identifier: MIT
/* The server sends the ACKs that a process had delayed when it died: their completions were already visible. */
#include "rxe_dm/server/delayed_ack.h"

#include <string.h>

#include "net/link/udp/address.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/device.h"

#define ACK_MAX_BYTES 64

static void send_ack(struct device *device, const struct ctl_delayed_ack *record)
{
	const struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_ACKNOWLEDGE),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = record->dest_qpn,
			 .psn = record->psn },
		.aeth = { .syndrome = AETH_ACK, .msn = record->msn },
	};
	const struct icrc_flow flow = { device->gid, record->peer, ROCE_UDP_PORT };
	uint8_t bytes[ACK_MAX_BYTES];
	size_t len = wire_emit_headers(bytes, &packet);
	union udp_addr to;
	socklen_t to_len = udp_addr_set(&to, &record->peer, ROCE_UDP_PORT, device->if_index);

	icrc_store(bytes + len, icrc_compute(&flow, 0, bytes, len));
	capture_own(device, &record->peer,
		    &(struct capture_answer){ .qpn = atomic_load(&record->qpn),
					      .src_port = ROCE_UDP_PORT,
					      .packet = bytes,
					      .len = (uint32_t)len + ICRC_LEN });
	device->shared->slot[0].counters.sent_pkts++;
	device->shared->slot[0].counters.sent_bytes += len + ICRC_LEN;
	/* When sending fails, the peer's retries run out. */
	sendto(device->group.fd[0], bytes, len + 4, MSG_DONTWAIT | MSG_NOSIGNAL, &to.sa, to_len);
}

void delayed_ack_send_all(struct device *device, uint32_t slot)
{
	struct ctl_delayed_ack *record = device->shared->slot[slot].delayed_ack;

	for (uint32_t i = 0; i < CTL_MAX_DELAYED_ACKS; i++) {
		if (atomic_load_explicit(&record[i].qpn, memory_order_acquire) &&
		    device->link == CTL_LINK_UDP && device->group.slots &&
		    !atomic_load(&device->shared->faults.silent))
			send_ack(device, &record[i]);
		atomic_store(&record[i].qpn, 0);
	}
}
