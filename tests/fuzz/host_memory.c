/* SPDX-License-Identifier: MIT */
/* The memory of the host under attack: regions, and the permitted accesses of each. */
#include "tests/fuzz/host_memory.h"

#define RIGHTS_ALL (RXE_LOCAL_WRITE | RXE_REMOTE_WRITE | RXE_REMOTE_READ | RXE_REMOTE_ATOMIC)

/* Odd lengths, so that off-by-one errors are detected. */
static const struct {
	uint64_t iova;
	uint32_t len, rights, pd;
} plan[HOST_REGIONS] = {
	[REGION_REMOTE] = { 0x100000000, 70001, RIGHTS_ALL, HOST_PD },
	[REGION_READ_ONLY] = { 0x200000000, 9999, RXE_REMOTE_READ, HOST_PD },
	[REGION_RECEIVES] = { 0x300000000, HOST_SLOTS *HOST_SLOT, RXE_LOCAL_WRITE, HOST_PD },
	[REGION_RESULTS] = { 0x400000000, HOST_SLOTS *HOST_SLOT, RXE_LOCAL_WRITE, HOST_PD },
	[REGION_SOURCE] = { 0x500000000, 70001, 0, HOST_PD },
	[REGION_FOREIGN] = { 0x600000000, 4096, RIGHTS_ALL, HOST_PD + 1 },
	[REGION_UNMAPPED] = { 0x700000000, 4096, RIGHTS_ALL, HOST_PD },
	[REGION_WINDOW] = { 0x800000000, 1001, 0, HOST_PD },
	[REGION_EDGE] = { UINT64_MAX - 4096, 4096, RIGHTS_ALL, HOST_PD },
	[REGION_DEAD] = { 0xa00000000, 4096, RIGHTS_ALL, HOST_PD },
	[REGION_BELOW] = { 0xb00000000, 3003, RXE_LOCAL_WRITE | RXE_MW_BIND, HOST_PD },
};

uint64_t host_iova(enum host_region region)
{
	return plan[region].iova;
}

uint32_t host_len(enum host_region region)
{
	return plan[region].len;
}

uint32_t host_key(enum host_region region)
{
	return (uint32_t)region << 16 | (0x40u + (uint32_t)region);
}

void host_revoke(struct host *host, enum host_region region, bool revoked)
{
	atomic_store_explicit(&host->mrs->entry[region].key, revoked ? 0 : host_key(region),
			      memory_order_release);
}

/* The initial content of every region. */
static uint8_t pattern[70001];

static void make_pattern(void)
{
	for (uint32_t at = 0; at < sizeof(pattern) && !pattern[1]; at++)
		pattern[sizeof(pattern) - 1 - at] = (uint8_t)(at * 7 + (at >> 8) * 13 + 1);
}

void memory_new(struct host *host)
{
	static struct rxe_mr_table table;
	static struct rxe_mw_table windows;

	make_pattern();
	host->mrs = &table;
	host->mws = &windows;
	windows.mw[0] = (struct rxe_mw){ 0 };
	for (uint32_t i = 1; i < HOST_REGIONS; i++) {
		struct rxe_mr *mr = &table.entry[i];

		host->bytes[i] = malloc(plan[i].len);
		MUST(host->bytes[i]);
		MUST(plan[i].len <= sizeof(pattern));
		memcpy(host->bytes[i], pattern, plan[i].len);
		mr->pd = plan[i].pd;
		mr->iova = plan[i].iova;
		mr->len = plan[i].len;
		mr->rights = plan[i].rights;
		mr->kind = i == REGION_WINDOW ? RXE_MR_WINDOW_2 : RXE_MR_PLAIN;
		mr->owner = 1;
		host_revoke(host, (enum host_region)i, i == REGION_DEAD);
	}
}

/* One window, bound by a queue pair to the middle of its region. */
void memory_open_window(struct host *host, struct rxe_qp *qp)
{
	struct rxe_mw *mw = &host->mws->mw[0];

	*mw = (struct rxe_mw){ .iova = plan[REGION_WINDOW].iova,
			       .len = plan[REGION_WINDOW].len,
			       .at = plan[REGION_BELOW].iova + plan[REGION_WINDOW].len,
			       .region = host_key(REGION_BELOW),
			       .rights = RXE_REMOTE_WRITE,
			       .qpn = qp->qpn };
	qp->num_mws++;
	atomic_store(&mw->state, host_key(REGION_WINDOW));
}

void memory_bind(struct rxe_bind *ret, uint32_t len)
{
	*ret = (struct rxe_bind){ .addr = plan[REGION_BELOW].iova + plan[REGION_WINDOW].len,
				  .len = len % (plan[REGION_WINDOW].len + 1),
				  .mw = host_key(REGION_WINDOW),
				  .rkey = host_key(REGION_WINDOW) ^ len % 2,
				  .region = host_key(REGION_BELOW),
				  .rights = RXE_REMOTE_WRITE };
}

/* Bytes of the region beside its window are unchanged. */
static void check_beside_window(const struct host *host)
{
	const uint32_t len = plan[REGION_WINDOW].len;

	MUST(memcmp(host->bytes[REGION_BELOW], pattern, len) == 0);
	MUST(memcmp(host->bytes[REGION_BELOW] + 2 * len, pattern + 2 * len, len) == 0);
}

/* Regions without write access are unchanged. */
void memory_free(struct host *host)
{
	static const enum host_region still[] = { REGION_READ_ONLY, REGION_SOURCE, REGION_FOREIGN,
						  REGION_UNMAPPED, REGION_DEAD };

	for (size_t i = 0; i < sizeof(still) / sizeof(still[0]); i++)
		MUST(memcmp(host->bytes[still[i]], pattern, plan[still[i]].len) == 0);
	check_beside_window(host);
	for (uint32_t i = 1; i < HOST_REGIONS; i++)
		free(host->bytes[i]);
}

/* Returns the bytes of an access, and repeats all checks that the engine must have made. */
static uint8_t *touch(const struct host *host, const struct rxe_mr *mr, uint64_t iova, size_t len,
		      enum host_region *ret_region)
{
	const size_t region = (size_t)(mr - host->mrs->entry);

	MUST(region > 0 && region < HOST_REGIONS);
	MUST(region != REGION_FOREIGN && region != REGION_DEAD && region != REGION_WINDOW);
	MUST(iova >= mr->iova && len <= mr->len && iova - mr->iova <= mr->len - len);
	/* A deferred access is repeated later. */
	*ret_region = host->is_deferred ? REGION_UNMAPPED : (enum host_region)region;
	return host->bytes[region] + (iova - mr->iova);
}

/* Checks that the bytes are part of an open slot. */
static void land_in_slot(struct host_slot *slots, size_t at, size_t len)
{
	struct host_slot *slot = &slots[at / HOST_SLOT];

	MUST(slot->open);
	MUST(at % HOST_SLOT + len <= slot->len);
	slot->written += len;
}

static bool mem_read(void *context, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len)
{
	struct host *host = context;
	enum host_region region;
	const uint8_t *p = touch(host, mr, iova, len, &region);

	if (region == REGION_UNMAPPED)
		return false;
	MUST(region == REGION_REMOTE || region == REGION_READ_ONLY || region == REGION_EDGE ||
	     (region == REGION_SOURCE && host->sends_posted));
	memcpy(dst, p, len);
	return true;
}

static bool mem_write(void *context, const struct rxe_mr *mr, uint64_t iova, const void *src,
		      size_t len)
{
	struct host *host = context;
	enum host_region region;
	uint8_t *p = touch(host, mr, iova, len, &region);

	if (region == REGION_UNMAPPED)
		return false;
	if (region == REGION_RECEIVES)
		land_in_slot(host->recv, (size_t)(p - host->bytes[region]), len);
	else if (region == REGION_RESULTS)
		land_in_slot(host->result, (size_t)(p - host->bytes[region]), len);
	else
		MUST(region == REGION_REMOTE || region == REGION_EDGE || region == REGION_BELOW);
	memcpy(p, src, len);
	host->effects += len;
	return true;
}

static bool mem_atomic(void *context, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		       uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig)
{
	struct host *host = context;
	enum host_region region;
	uint64_t value;
	uint8_t *p = touch(host, mr, iova, sizeof(value), &region);

	if (region == REGION_UNMAPPED)
		return false;
	MUST(region == REGION_REMOTE || region == REGION_EDGE);
	MUST(iova % sizeof(value) == 0);
	memcpy(&value, p, sizeof(value));
	*ret_orig = value;
	switch (op) {
	case RXE_CMP_SWAP: value = value == compare_or_add ? swap : value; break;
	case RXE_FETCH_ADD: value += compare_or_add; break;
	}
	memcpy(p, &value, sizeof(value));
	host->effects++;
	host_atomic_done(host, *ret_orig);
	return true;
}

static bool mem_persist(void *context, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
			uint64_t *ticket)
{
	enum host_region region;

	touch(context, mr, iova, len, &region);
	*ticket = 1;
	return region != REGION_UNMAPPED;
}

static bool is_deferred(void *context)
{
	const struct host *host = context;

	return host->is_deferred;
}

static void cq_notify(void *context, struct rxe_cq *cq)
{
	struct host *host = context;

	MUST(cq == &host->cq);
}

static void take_event(void *context, const struct rxe_event *event)
{
	(void)context;
	(void)event;
}

static uint32_t same_number(void *context)
{
	(void)context;
	return 4;
}

const struct rxe_host_ops memory_ops = {
	.mem_read = mem_read,
	.mem_write = mem_write,
	.mem_atomic = mem_atomic,
	.mem_persist = mem_persist,
	.is_deferred = is_deferred,
	.cq_notify = cq_notify,
	.event = take_event,
	.random = same_number,
};
