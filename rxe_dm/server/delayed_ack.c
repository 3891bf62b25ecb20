// SPDX-License-Identifier: MIT
/* A process that died with a completion in its hands may have held the ACK for it: its peer gets it from us. */
#include "rxe_dm/server/delayed_ack.h"

#include <string.h>

#include "net/link/udp/address.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/device.h"

#define ROCE_PORT     4791
#define ACK_UNLIMITED 0x1f /* AETH syndrome: ACK, credits not counted (IBTA table 45) */
#define ACK_ROOM      64

static void send_ack(struct device *device, const struct ctl_owed_ack *owed)
{
	const struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_ACKNOWLEDGE),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = owed->dest_qpn,
			 .psn = owed->psn },
		.aeth = { .syndrome = ACK_UNLIMITED, .msn = owed->msn },
	};
	const struct icrc_flow flow = { device->gid, owed->peer, ROCE_PORT };
	uint8_t bytes[ACK_ROOM];
	size_t len = wire_emit_headers(bytes, &packet);
	union udp_addr to;
	socklen_t to_len = udp_addr_set(&to, &owed->peer, ROCE_PORT, device->if_index);

	icrc_store(bytes + len, icrc_compute(&flow, 0, bytes, len));
	capture_own(device, &owed->peer,
		    &(struct capture_answer){ .qpn = atomic_load(&owed->qpn),
					      .src_port = ROCE_PORT,
					      .packet = bytes,
					      .len = (uint32_t)len + ICRC_LEN });
	device->shared->slot[0].counters.sent_pkts++;
	device->shared->slot[0].counters.sent_bytes += len + ICRC_LEN;
	/* Should it fail, the peer asks again, and hears of nobody. */
	sendto(device->group.fd[0], bytes, len + 4, MSG_DONTWAIT | MSG_NOSIGNAL, &to.sa, to_len);
}

void owed_pay(struct device *device, uint32_t slot)
{
	struct ctl_owed_ack *owed = device->shared->slot[slot].owed;

	for (uint32_t i = 0; i < CTL_OWED; i++) {
		if (atomic_load_explicit(&owed[i].qpn, memory_order_acquire) &&
		    device->link == CTL_LINK_UDP && device->group.slots &&
		    !atomic_load(&device->shared->faults.silent))
			send_ack(device, &owed[i]);
		atomic_store(&owed[i].qpn, 0);
	}
}
