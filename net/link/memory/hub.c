// SPDX-License-Identifier: MIT
/* The server's side of a memory link: the file of the rings, the doorbells, and who is there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/link/descriptor.h"
#include "net/link/memory/private.h"
#include "net/wire/headers.h"

int memory_hub_open(struct memory_hub *ret, uint32_t slots)
{
	struct memory_hub hub = { .slots = slots };
	void *area;

	if (slots == 0 || slots > MEMORY_SLOTS)
		return -EINVAL;
	hub.fd = memfd_create("rxe_dm rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (hub.fd < 0)
		return -errno;
	if (ftruncate(hub.fd, (off_t)memory_file_len(slots)) != 0 ||
	    fcntl(hub.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
		const int rc = -errno;

		(void)close(hub.fd);
		return rc;
	}
	area = mmap(NULL, sizeof(*hub.area), PROT_READ | PROT_WRITE, MAP_SHARED, hub.fd, 0);
	if (area == MAP_FAILED) {
		(void)close(hub.fd);
		return -ENOMEM;
	}
	hub.area = area;
	hub.area->hub.magic = MEMORY_MAGIC;
	hub.area->hub.slots = slots;
	/* A failure makes the number predictable: then other users can wake processes. */
	(void)!getrandom(&hub.area->hub.cookie, sizeof(hub.area->hub.cookie), 0);
	for (uint32_t i = 0; i < MEMORY_SLOTS; i++)
		hub.doorbell[i] = -1;
	*ret = hub;
	return 0;
}

void memory_hub_close(struct memory_hub *hub)
{
	if (!hub->area)
		return;
	for (uint32_t i = 0; i < MEMORY_SLOTS; i++)
		descriptor_close(hub->doorbell[i]);
	(void)munmap(hub->area, sizeof(*hub->area));
	(void)close(hub->fd);
	hub->area = NULL;
}

/* Every user may send to an abstract name: only datagrams that are the cookie pass. */
static int take_cookie_only(int fd, uint64_t cookie)
{
	uint8_t bytes[sizeof(cookie)];

	memcpy(bytes, &cookie, sizeof(cookie));

	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, get_be32(bytes), 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, get_be32(bytes + 4), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

/* The kernel chooses a free name. */
static int bind_name(int fd, struct memory_doorbell *ret)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const size_t before = offsetof(struct sockaddr_un, sun_path) + 1;
	socklen_t len = sizeof(addr.sun_family);

	if (bind(fd, (const struct sockaddr *)&addr, len) != 0)
		return -errno;
	len = sizeof(addr);
	if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		return -errno;
	if (len <= before || len - before > sizeof(ret->name))
		return -ENAMETOOLONG;
	ret->len = (uint8_t)(len - before);
	memcpy(ret->name, addr.sun_path + 1, ret->len);
	return 0;
}

int memory_hub_doorbell(struct memory_hub *hub, uint32_t slot)
{
	int fd, rc;

	assert(hub->area && slot < hub->slots);
	if (hub->doorbell[slot] >= 0)
		return hub->doorbell[slot];
	fd = descriptor_keep(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	rc = take_cookie_only(fd, hub->area->hub.cookie);
	if (rc == 0)
		rc = bind_name(fd, &hub->area->hub.doorbell[slot]);
	if (rc != 0) {
		descriptor_close(fd);
		return rc;
	}
	hub->doorbell[slot] = fd;
	return fd;
}

void memory_hub_set_live(struct memory_hub *hub, uint32_t slot, bool live)
{
	const uint64_t bit = 1ull << slot % 64;

	assert(hub->area && slot < hub->slots);
	if (live)
		atomic_fetch_or(&hub->area->hub.live[slot / 64], bit);
	else
		atomic_fetch_and(&hub->area->hub.live[slot / 64], ~bit);
	atomic_fetch_add(&hub->area->hub.generation, 1);
}

static struct memory_ring_page *map_page(const struct memory_hub *hub, uint32_t from, uint32_t to)
{
	void *page = mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, hub->fd,
			  (off_t)memory_ring_offset(hub->slots, from, to));

	return page == MAP_FAILED ? NULL : page;
}

/* Whether nothing waits in the ring. */
static bool is_drained(const struct memory_hub *hub, uint32_t from, uint32_t to)
{
	struct memory_ring_page *sent = map_page(hub, from, to), *taken = map_page(hub, to, from);
	const bool drained = sent && taken && atomic_load(&sent->tail) == atomic_load(&taken->head);

	if (sent)
		(void)munmap(sent, MEMORY_PAGE);
	if (taken)
		(void)munmap(taken, MEMORY_PAGE);
	return drained;
}

/* The first pages stay: positions never fall. */
bool memory_hub_reap(struct memory_hub *hub, uint32_t slot)
{
	bool all = true;

	for (uint32_t to = 0; to < hub->slots; to++) {
		if (!memory_is_used(hub->area, slot, to))
			continue;
		if (memory_is_live(hub->area, to) && !is_drained(hub, slot, to)) {
			all = false;
			continue;
		}
		(void)fallocate(hub->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)memory_ring_offset(hub->slots, slot, to) + MEMORY_PAGE,
				RING_BYTES);
	}
	/* A slot that sends nothing is nothing for others to look at. */
	for (uint32_t i = 0; all && i < MEMORY_SLOTS / 64; i++)
		atomic_store(&hub->area->slot[slot].used[i], 0);
	return all;
}
