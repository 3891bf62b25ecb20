/* SPDX-License-Identifier: MIT */
/* Slots of processes that have exited: any records in the shared memory, and packets to them. The
 * server answers. What it sends is checked here instead of sent: it is sound, one of the records
 * says it, and it goes to the peer that asked, at most as often as the peer asked. A delayed ACK is
 * sent unasked, once, to the peer that its record names. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/capture/ring.h"
#include "net/link/udp/address.h"
#include "net/link/udp/udp.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/fuzz/control.h"

#define PEERS	     2u
#define BASE_PSN     100u
#define LONGEST_NS   31000000000ull
#define QUARTER_S_NS 250000000ull

enum packet_flag {
	PACKET_PEER = 1,
	PACKET_BAD_ICRC = 1 << 1,
	PACKET_BAD_KEY = 1 << 2,
	PACKET_BYTES = 1 << 3, /* as the script has it */
};

enum record_flag {
	RECORD_PEER = 1,
	RECORD_XRC = 1 << 1,
	RECORD_SRC = 1 << 2,  /* not from our address */
	RECORD_WILD = 1 << 3, /* numbers that are none */
	RECORD_MANY = 1 << 4, /* and says that there are more */
	RECORD_DST = 1 << 5,  /* to anybody */
};

/* The linker gives us the calls of rxe_dm/server/link/time_wait.c. */
int __wrap_udp_send(struct link *link, const struct wire_train *trains, size_t n);
void __real_rxe_time_wait_adopt_delayed(struct rxe_engine *engine, uint64_t now_ns);
void __wrap_rxe_time_wait_adopt_delayed(struct rxe_engine *engine, uint64_t now_ns);

static struct {
	int sock;
	uint16_t port;
	struct gid gid;
} peer[PEERS]; /* with the device's address, and another one */
static uint64_t asked, answered;
static bool is_touched;
static bool has_delayed, has_stranger; /* records of delayed ACKs, and of any address */
static bool is_any_peer;	       /* a delayed ACK may go to anybody */
/* A slot's records before its delayed ACKs are adopted: in a full table, the next one adopted
 * replaces the record of an ACK that has not been sent yet. */
static struct rxe_time_wait_table adopted;

void control_slot_init(void)
{
	for (uint32_t i = 0; i < PEERS; i++) {
		const int discover = IP_PMTUDISC_DO;
		union udp_addr addr;
		socklen_t len;

		peer[i].gid = control_device()->link.gid;
		MUST(gid_is_v4(&peer[i].gid));
		if (i == 1)
			memcpy(&peer[i].gid.raw[12], (uint8_t[]){ 127, 9, 9, 9 }, 4);
		peer[i].sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		len = udp_addr_set(&addr, &peer[i].gid, 0, 0);
		MUST(peer[i].sock >= 0 && bind(peer[i].sock, &addr.sa, len) == 0);
		MUST(setsockopt(peer[i].sock, IPPROTO_IP, IP_MTU_DISCOVER, &discover,
				sizeof(discover)) == 0);
		len = sizeof(addr);
		MUST(getsockname(peer[i].sock, &addr.sa, &len) == 0);
		peer[i].port = udp_addr_port(&addr);
	}
}

static struct ctl_slot *take_slot(struct take *take)
{
	const uint32_t slot = control_slot[take_u8(take) % CONTROL_KNOWN_SLOTS];

	is_touched = true;
	return slot ? &control_device()->shared->slot[slot] : NULL;
}

static uint32_t number_of(const struct ctl_slot *slot)
{
	return (uint32_t)(slot - control_device()->shared->slot);
}

void control_slot_spoil(struct take *take)
{
	static const size_t parts[] = {
		offsetof(struct ctl_slot, inside),
		offsetof(struct ctl_slot, counters),
		offsetof(struct ctl_slot, time_wait.delayed),
		offsetof(struct ctl_slot, qp),
		offsetof(struct ctl_slot, failures),
		offsetof(struct ctl_slot, faults),
		offsetof(struct ctl_slot, time_wait),
		offsetof(struct ctl_slot, srq),
	};
	struct ctl_slot *slot = take_slot(take);
	size_t at = parts[take_u8(take) % (sizeof(parts) / sizeof(parts[0]))] + take_u16(take);
	size_t n = take_u8(take) % 32;

	/* A record of a delayed ACK, perhaps. */
	asked += RXE_MAX_DELAYED_ACKS;
	is_any_peer = true;
	for (; n > 0; n--, at++) {
		const uint8_t byte = take_u8(take);

		if (slot && at < sizeof(*slot))
			((uint8_t *)slot)[at] = byte;
	}
}

/* A number as it should be, or not at all. */
static uint32_t take_number(struct take *take, uint32_t base, bool is_wild)
{
	return is_wild ? take_u32(take) : psn_add(base, (uint32_t)(int8_t)take_u8(take));
}

void control_slot_record(struct take *take, bool is_delayed)
{
	struct ctl_slot *slot = take_slot(take);
	const uint8_t flags = take_u8(take), place = take_u8(take), ages = take_u8(take);
	const bool is_wild = flags & RECORD_WILD;
	struct rxe_time_wait *to;
	struct rc_replay replay = { 0 };
	struct rxe_time_wait record = { .dest_qpn = take_number(take, 0x30000, is_wild),
					.psn = take_number(take, BASE_PSN, is_wild),
					.msn = take_number(take, 7, is_wild),
					.until_ns = control_now_ns + ages * QUARTER_S_NS,
					.src = control_device()->link.gid,
					.dst = peer[flags & RECORD_PEER].gid,
					.hop_limit = 64,
					.is_xrc = flags & RECORD_XRC ? ages | 1 : 0 };

	replay.count = take_number(take, 2, is_wild);
	for (uint32_t i = 0; i < 4; i++) {
		replay.saved[i].psn = take_number(take, BASE_PSN - 2, is_wild);
		replay.saved[i].orig = 0x1122334455667788ull + i;
	}
	if (ages == 255)
		record.until_ns = UINT64_MAX;
	if (flags & RECORD_SRC)
		record.src.raw[15] ^= take_u8(take);
	if (flags & RECORD_DST)
		record.dst.raw[take_u8(take) % sizeof(record.dst.raw)] ^= take_u8(take);
	if (!slot)
		return;
	atomic_store(&record.qpn, number_of(slot) << RXE_SLOT_SHIFT | place);
	to = is_delayed ? &slot->time_wait.delayed[place % RXE_MAX_DELAYED_ACKS]
			: &slot->time_wait.at[place % RXE_MAX_TIME_WAIT];
	memcpy(rxe_time_wait_replay(&slot->time_wait, to), &replay, sizeof(replay));
	memcpy(to, &record, sizeof(record));
	/* A delayed ACK is sent unasked, to the address in its record or in another record of its
	 * QPN. */
	has_delayed |= is_delayed;
	has_stranger |= flags & RECORD_DST;
	is_any_peer |= has_delayed && has_stranger;
	if (is_delayed) {
		asked++;
		return;
	}
	if (flags & RECORD_MANY)
		atomic_store(&slot->time_wait.count, UINT32_MAX - place);
	else if (atomic_load(&slot->time_wait.count) <= place)
		atomic_store(&slot->time_wait.count, place + 1u);
}

void control_slot_captured(struct take *take)
{
	const struct device *device = control_device();
	const uint8_t flags = take_u8(take);
	off_t at = take_u16(take);
	size_t n = take_u8(take) % 32;
	uint8_t bytes[32];

	for (size_t i = 0; i < n; i++)
		bytes[i] = take_u8(take);
	if (device->captures.fd < 0)
		return;
	if (flags & 1)
		at += (off_t)capture_ring_offset(device->captures.area->ring_bytes, 0);
	MUST(pwrite(device->captures.fd, bytes, n, at) == (ssize_t)n);
}

/* A request, or anything, from one of the peers to a process: at most 200 bytes. */
static size_t take_packet(struct take *take, uint8_t *p, uint8_t flags, uint32_t slot)
{
	struct wire_packet packet = { .bth = { .mig_req = true, .ack_req = true } };
	size_t len, payload;

	if (flags & PACKET_BYTES) {
		len = take_u8(take) % 200;
		for (size_t i = 0; i < len; i++)
			p[i] = take_u8(take);
		if (len > 5)
			p[5] = (uint8_t)slot;
		return len;
	}
	packet.bth.opcode = take_u8(take);
	packet.bth.pkey = flags & PACKET_BAD_KEY ? 0x1234 : 0xffff;
	packet.bth.dest_qpn = slot << RXE_SLOT_SHIFT | take_u8(take);
	packet.bth.psn = psn_add(BASE_PSN, (uint32_t)(int8_t)take_u8(take));
	payload = wire_shape(packet.bth.opcode) & SHAPE_PAYLOAD ? take_u8(take) % 64 : 0;
	packet.bth.pad = (uint8_t)(-payload & 3);
	if (!wire_shape(packet.bth.opcode))
		return 0;
	len = wire_emit_headers(p, &packet);
	memset(p + len, 0, payload + packet.bth.pad + ICRC_LEN);
	return len + payload + packet.bth.pad + ICRC_LEN;
}

void control_slot_packet(struct take *take)
{
	const uint32_t slot = control_slot[take_u8(take) % CONTROL_KNOWN_SLOTS];
	const uint8_t flags = take_u8(take);
	const uint32_t from = flags & PACKET_PEER;
	const struct icrc_flow flow = { peer[from].gid, control_device()->link.gid,
					peer[from].port };
	uint8_t p[WIRE_MAX_HEADERS + 256] = { 0 };
	union udp_addr to;
	socklen_t to_len;
	size_t len = take_packet(take, p, flags, slot);

	if (len >= BTH_LEN + ICRC_LEN && !(flags & PACKET_BAD_ICRC))
		icrc_store(p + len - ICRC_LEN, icrc_compute(&flow, 0, p, len - ICRC_LEN));
	memset(&adopted, 0, sizeof(adopted));
	to_len = udp_addr_set(&to, &control_device()->link.gid, ROCE_UDP_PORT, 0);
	if (sendto(peer[from].sock, p, len, MSG_DONTWAIT, &to.sa, to_len) == (ssize_t)len)
		asked++;
	control_turn();
}

/* Whether one of the records says this. */
static bool is_from_record(struct rxe_time_wait_table *table, const struct rxe_time_wait *records,
			   uint32_t n, const struct wire_packet *packet, const struct gid *dst)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct rxe_time_wait *record = &records[i];
		uint64_t orig;

		if (!gid_equal(&record->dst, dst) ||
		    (record->dest_qpn & QPN_MASK) != packet->bth.dest_qpn)
			continue;
		if (packet->shape & SHAPE_ANSWERED) {
			if (rc_replay_find(rxe_time_wait_replay(table, record),
					   packet->shape & SHAPE_ATOMIC ? RC_REPLAY_ATOMIC
									: RC_REPLAY_EMPTY,
					   packet->bth.psn, &orig) &&
			    (!(packet->shape & SHAPE_ATOMIC) || orig == packet->atomic_orig))
				return true;
		} else if (psn_add(record->psn, PSN_MASK) == packet->bth.psn) {
			return true;
		}
	}
	return false;
}

static bool is_recorded(const struct wire_packet *packet, const struct gid *dst)
{
	struct ctl_shared *shared = control_device()->shared;

	for (uint32_t slot = 1; slot < control_device()->link.slots; slot++) {
		struct rxe_time_wait_table *table = &shared->slot[slot].time_wait;

		if (is_from_record(table, table->at, RXE_MAX_TIME_WAIT, packet, dst))
			return true;
	}
	return is_from_record(&adopted, adopted.at, RXE_MAX_TIME_WAIT, packet, dst) ||
	       is_from_record(&adopted, adopted.delayed, RXE_MAX_DELAYED_ACKS, packet, dst);
}

static void look_at(const uint8_t *p, uint32_t len, const struct icrc_flow *flow,
		    struct wire_packet *ret)
{
	MUST(wire_parse(ret, p, len) == WIRE_OK);
	MUST(icrc_check(flow, IP_ID_EXACT, 0, p, len) == ICRC_OK);
	MUST(!(ret->shape & SHAPE_REQUEST) && ret->payload_len == 0);
	MUST(ret->shape & SHAPE_AETH && ret->aeth.syndrome >> 5 == 0);
	MUST(!atomic_load(&control_device()->shared->faults.silent));
}

void __wrap_rxe_time_wait_adopt_delayed(struct rxe_engine *engine, uint64_t now_ns)
{
	memcpy(&adopted, engine->cfg.time_wait, sizeof(adopted));
	__real_rxe_time_wait_adopt_delayed(engine, now_ns);
}

int __wrap_udp_send(struct link *link, const struct wire_train *trains, size_t n)
{
	uint16_t ports[RXE_MAX_TX_PORTS];
	const uint32_t num = link_tx_ports(link, ports, RXE_MAX_TX_PORTS);

	for (size_t i = 0; i < n; i++) {
		const struct wire_train *train = &trains[i];
		struct wire_packet packet;

		MUST(train->segs == 1 && train->tx_index < num);
		look_at(train->buf, train->len,
			&(struct icrc_flow){ train->src, train->dst, ports[train->tx_index] },
			&packet);
		MUST(gid_equal(&train->src, &control_device()->link.gid));
		MUST(is_any_peer || gid_equal(&train->dst, &peer[0].gid) ||
		     gid_equal(&train->dst, &peer[1].gid));
		MUST(is_recorded(&packet, &train->dst));
		MUST(++answered <= asked);
	}
	return (int)n;
}

void control_slot_end(void)
{
	const struct device *device = control_device();

	control_now_ns += LONGEST_NS;
	control_turn();
	MUST(!device->time_wait);
	MUST(!device->captures.running && !device->captures.writer && device->captures.fd < 0);
	for (uint32_t i = 1; i < device->link.slots && is_touched; i++)
		memset(&device->shared->slot[i], 0, sizeof(device->shared->slot[i]));
	is_touched = has_delayed = has_stranger = is_any_peer = false;
	memset(control_slot, 0, sizeof(control_slot));
	memset(&adopted, 0, sizeof(adopted));
}
