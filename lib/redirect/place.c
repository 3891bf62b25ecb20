// SPDX-License-Identifier: MIT
/* The device's paths, and the server's files that stand for them. */
#include "lib/redirect/place.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FOLDER_MAX 96
#define HOST	   "/host" /* below the folder: the same with the host's adapters */
#define ANSWER_MS                                                                                  \
	100 /* a server that does not answer is stopped: the counters are those of before */

/* Numbers of the nodes in Linux. */
#define VERBS_MAJOR   231
#define UVERBS_MINOR  192
#define MISC_MAJOR    10
#define RDMA_CM_MINOR 122

static char folder[FOLDER_MAX];

/* The folder that stands for /; "" without one. The program may clear its environment later. */
static const char *root(void)
{
	const char *value;

	if (folder[0])
		return folder;
	value = getenv("RXE_DM_SYSFS");
	if (value && *value == '/' && strlen(value) < sizeof(folder))
		memcpy(folder, value, strlen(value) + 1);
	return folder;
}

/* What follows it in the paths of files: the host's adapters are to be seen as well, or not. */
static const char *branch(void)
{
	static int host = -1;

	if (host < 0)
		host = getenv("RXE_DM_SYSFS_HOST") != NULL;
	return host ? HOST : "";
}

__attribute__((constructor)) static void begin(void)
{
	root();
	branch();
}

/* What follows the folder in a path of the server's; NULL: another path. */
static const char *below(const char *path)
{
	const size_t len = strlen(root());

	if (!len || strncmp(path, root(), len) != 0)
		return NULL;
	path += len;
	if (strncmp(path, HOST "/", strlen(HOST "/")) == 0)
		path += strlen(HOST);
	return *path == '/' ? path : NULL;
}

void *place_next(void **cache, const char *name)
{
	void *found = __atomic_load_n(cache, __ATOMIC_ACQUIRE);

	if (!found) {
		found = dlsym(RTLD_NEXT, name);
		__atomic_store_n(cache, found, __ATOMIC_RELEASE);
	}
	return found;
}

/* Takes "/name" off the path, however many slashes and "/." are there. NULL: it has another
 * name. */
static const char *take(const char *path, const char *name, bool whole)
{
	const size_t len = strlen(name);

	if (*path != '/')
		return NULL;
	while (*path == '/' || (*path == '.' && path[1] == '/'))
		path++;
	if (strncmp(path, name, len) != 0)
		return NULL;
	return !whole || path[len] == '/' || !path[len] ? path + len : NULL;
}

static bool is_ours(const char *path)
{
	const char *rest = take(path, "sys", true);

	if (rest)
		rest = take(rest, "class", true);
	if (rest)
		return take(rest, "infiniband", false) != NULL;
	rest = take(path, "dev", true);
	return rest && take(rest, "infiniband", true);
}

const char *place(const char *path, char buf[static PATH_MAX])
{
	if (!path || *path != '/' || !is_ours(path) || !*root())
		return path;
	return snprintf(buf, PATH_MAX, "%s%s%s", root(), branch(), path) < PATH_MAX ? buf : path;
}

/* Connects to the server's socket, which answers by closing the connection. */
static void refresh(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct pollfd closed = { .events = POLLIN };
	const int before = errno;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.*s/refresh", FOLDER_MAX, root());
	closed.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (closed.fd >= 0) {
		if (connect(closed.fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
			poll(&closed, 1, ANSWER_MS);
		close(closed.fd);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = before;
}

const char *place_open(const char *path, char buf[static PATH_MAX])
{
	const char *placed = place(path, buf);

	if (placed != path && strstr(path, "counters/"))
		refresh();
	return placed;
}

void place_back(char *path)
{
	const char *known = below(path);

	if (known)
		memmove(path, known, strlen(known) + 1);
}

bool place_is_node(const char *placed, unsigned int *ret_major, unsigned int *ret_minor)
{
	const char *name = below(placed);
	unsigned int number;

	name = name ? take(name, "dev", true) : NULL;
	name = name ? take(name, "infiniband", true) : NULL;
	if (!name)
		return false;
	while (*name == '/')
		name++;
	if (strcmp(name, "rdma_cm") == 0) {
		*ret_major = MISC_MAJOR;
		*ret_minor = RDMA_CM_MINOR;
		return true;
	}
	if (sscanf(name, "uverbs%u", &number) != 1)
		return false;
	*ret_major = VERBS_MAJOR;
	*ret_minor = UVERBS_MINOR + number;
	return true;
}
