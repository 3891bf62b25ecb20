// SPDX-License-Identifier: MIT
/* The server's side of a memory link: files, doorbells, which slots have a process, and which have
 * exchanged rings. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/link/descriptor.h"
#include "net/link/memory/private.h"
#include "net/wire/packet.h"

/* A file of that length, mapped to write. */
static int make_file(const char *name, size_t len, void **ret)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map = MAP_FAILED;
	int rc;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)len) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		rc = -errno;
		(void)close(fd);
		return rc;
	}
	(void)madvise(map, len, MADV_DONTDUMP);
	*ret = map;
	return fd;
}

/* Seals the page, where processes can seal their files, and map them all the same. */
static bool seal_page(struct memory_hub *hub)
{
	return memory_can_map_again(hub->page, sizeof(*hub->page)) &&
	       fcntl(hub->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
}

int memory_hub_open(struct memory_hub *ret, uint32_t slots, uint64_t cookie)
{
	struct memory_hub hub = { .slots = slots };
	void *page = NULL;

	if (slots == 0 || slots > MEMORY_SLOTS)
		return -EINVAL;
	hub.fd = make_file("rxe_dm hub", sizeof(*hub.page), &page);
	if (hub.fd < 0)
		return hub.fd;
	assert(page);
	hub.page = page;
	hub.page->magic = MEMORY_MAGIC;
	hub.page->slots = slots;
	hub.page->is_sealed = seal_page(&hub);
	hub.page->cookie = cookie;
	for (uint32_t i = 0; i < MEMORY_SLOTS; i++)
		hub.slot[i].fd = hub.slot[i].doorbell = -1;
	*ret = hub;
	return 0;
}

/* Records that no other process has exchanged rings with this slot. */
static void forget_meetings(struct memory_hub *hub, uint32_t slot)
{
	for (uint32_t i = 0; i < MEMORY_SLOTS / 64; i++)
		atomic_store(&hub->page->met[slot][i], 0);
	for (uint32_t to = 0; to < hub->slots; to++)
		atomic_fetch_and(&hub->page->met[to][slot / 64], ~(1ull << slot % 64));
}

/* Those that have mapped the file keep it until they have read it. */
static void forget_file(struct memory_hub *hub, uint32_t slot)
{
	struct memory_hub_slot *of = &hub->slot[slot];

	forget_meetings(hub, slot);
	if (of->fd < 0)
		return;
	(void)munmap(of->file, memory_file_len(hub->slots));
	(void)close(of->fd);
	of->file = NULL;
	of->fd = -1;
}

void memory_hub_close(struct memory_hub *hub)
{
	if (!hub->page)
		return;
	for (uint32_t i = 0; i < hub->slots; i++) {
		forget_file(hub, i);
		descriptor_close(hub->slot[i].doorbell);
	}
	(void)munmap(hub->page, sizeof(*hub->page));
	(void)close(hub->fd);
	hub->page = NULL;
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

static int make_doorbell(struct memory_hub *hub, uint32_t slot)
{
	int fd, rc;

	if (hub->slot[slot].doorbell >= 0)
		return 0;
	fd = descriptor_keep(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	rc = take_cookie_only(fd, hub->page->cookie);
	if (rc == 0)
		rc = bind_name(fd, &hub->page->doorbell[slot]);
	if (rc != 0) {
		descriptor_close(fd);
		return rc;
	}
	hub->slot[slot].doorbell = fd;
	return 0;
}

/* A doorbell that is full is readable already. */
void memory_ring_doorbell(const struct memory_hub_page *hub, uint32_t slot, int from_fd)
{
	const struct memory_doorbell *to = &hub->doorbell[slot];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const uint32_t len = to->len < sizeof(to->name) ? to->len : sizeof(to->name);
	const uint64_t cookie = hub->cookie;

	/* A program that closed the descriptor may have one of its own at the number. */
	if (len == 0 || !descriptor_is_kept(from_fd))
		return;
	memcpy(addr.sun_path + 1, to->name, len);
	/* QEMU's user mode makes a name longer that a 0 follows, and finds no such socket. */
	addr.sun_path[1 + len] = '.';
	(void)sendto(from_fd, &cookie, sizeof(cookie), MSG_DONTWAIT | MSG_NOSIGNAL,
		     (const struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

void memory_wake_slot(const struct memory_hub_page *hub, struct memory_bell *bells, uint32_t slot,
		      uint32_t armed, int from_fd)
{
	if (armed & MEMORY_BELL)
		memory_bell_ring(&bells[slot]);
	if (armed & MEMORY_DOORBELL)
		memory_ring_doorbell(hub, slot, from_fd);
}

static void set_live(struct memory_hub *hub, uint32_t slot, bool live)
{
	const uint64_t bit = 1ull << slot % 64;

	if (live)
		atomic_fetch_or(&hub->page->live[slot / 64], bit);
	else
		atomic_fetch_and(&hub->page->live[slot / 64], ~bit);
	atomic_fetch_add(&hub->page->generation, 1);
}

int memory_hub_attach(struct memory_hub *hub, uint32_t slot)
{
	struct memory_hub_slot *of = &hub->slot[slot];
	int fd, rc = make_doorbell(hub, slot);
	void *file;

	assert(hub->page && slot < hub->slots);
	if (rc)
		return rc;
	fd = descriptor_keep(make_file("rxe_dm rings", memory_file_len(hub->slots), &file));
	if (fd < 0)
		return fd;
	forget_file(hub, slot);
	/* 0 is no epoch. */
	hub->last_epoch += hub->last_epoch == UINT32_MAX ? 2 : 1;
	*of = (struct memory_hub_slot){
		.fd = fd, .doorbell = of->doorbell, .file = file, .epoch = hub->last_epoch
	};
	atomic_store(&hub->page->epoch[slot], of->epoch);
	set_live(hub, slot, true);
	return 0;
}

static bool has_met(const struct memory_hub *hub, uint32_t to, uint32_t from)
{
	return atomic_load(&hub->page->met[to][from / 64]) >> from % 64 & 1;
}

/* Wakes the processes that wait. They give the file's memory back. */
void memory_hub_detach(struct memory_hub *hub, uint32_t slot)
{
	assert(hub->page && slot < hub->slots);
	set_live(hub, slot, false);
	for (uint32_t to = 0; to < hub->slots; to++)
		if (has_met(hub, to, slot) && hub->slot[to].file)
			memory_wake_slot(hub->page, hub->bells, to,
					 atomic_load(&hub->slot[to].file->armed),
					 hub->slot[slot].doorbell);
}

/* Whether nothing waits in the ring. */
static bool is_drained(const struct memory_hub *hub, uint32_t from, uint32_t to)
{
	const struct memory_hub_slot *a = &hub->slot[from], *b = &hub->slot[to];
	const struct memory_pair *sent = &a->file->pair[to];
	const struct memory_pair *taken = &b->file->pair[from];
	uint64_t head;

	if (atomic_load(&sent->tail_epoch) != b->epoch)
		return true;
	head = atomic_load(&taken->head_epoch) == a->epoch ? atomic_load(&taken->head) : 0;
	return atomic_load(&sent->tail) == head;
}

bool memory_hub_reap(struct memory_hub *hub, uint32_t slot)
{
	assert(!memory_is_live(hub->page, slot));
	for (uint32_t to = 0; hub->slot[slot].file && to < hub->slots; to++)
		if (memory_is_live(hub->page, to) && has_met(hub, to, slot) && hub->slot[to].file &&
		    !is_drained(hub, slot, to))
			return false;
	forget_file(hub, slot);
	atomic_fetch_add(&hub->page->generation, 1);
	return true;
}

static bool is_sealed(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_FUTURE_WRITE);
}

int memory_hub_meet(void *arg, uint32_t from, uint32_t to, uint32_t *ret_epoch)
{
	struct memory_hub *hub = arg;
	int fd;

	assert(hub->page && from < hub->slots && to < hub->slots);
	if (hub->slot[to].fd < 0)
		return -ENOENT;
	if (hub->page->is_sealed && !is_sealed(hub->slot[to].fd))
		return -EAGAIN;
	fd = fcntl(hub->slot[to].fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	atomic_fetch_or(&hub->page->met[to][from / 64], 1ull << from % 64);
	atomic_fetch_add(&hub->page->generation, 1);
	*ret_epoch = hub->slot[to].epoch;
	return fd;
}
