// SPDX-License-Identifier: MIT
/* A program closes the descriptors that it did not open, as daemons do, and opens others by the
 * same numbers. The library leaves those alone: it neither reads nor writes nor closes them. The
 * device is dead, which the program is told; nothing waits. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define NUMBERS 2048
#define TEXT	"sixteen bytes..\n"

static bool before[NUMBERS];
static bool ours[NUMBERS];
static struct stat opened[NUMBERS];

static void note_before(void)
{
	for (int fd = 0; fd < NUMBERS; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void put(int fd, int number)
{
	ck_assert_int_ge(fd, 0);
	if (fd == number)
		return;
	ck_assert_int_eq(dup2(fd, number), number);
	close(fd);
}

static void open_file(int number)
{
	char name[] = "/tmp/verbs_closefrom.XXXXXX";
	int fd = mkstemp(name);

	ck_assert_int_eq(unlink(name), 0);
	put(fd, number);
	ck_assert_int_eq(pwrite(number, TEXT, 16, 0), 16);
}

static void expect_file(int number)
{
	char text[32];

	ck_assert_int_eq(lseek(number, 0, SEEK_CUR), 0);
	ck_assert_int_eq(pread(number, text, sizeof(text), 0), 16);
	ck_assert_int_eq(memcmp(text, TEXT, 16), 0);
}

/* With a datagram of its own in it. */
static void open_socket(int number)
{
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(self);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&self, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&self, &len), 0);
	ck_assert_int_eq(sendto(fd, TEXT, 16, 0, (struct sockaddr *)&self, len), 16);
	put(fd, number);
}

static void expect_socket(int number)
{
	char text[32];

	ck_assert_int_eq(recv(number, text, sizeof(text), MSG_DONTWAIT), 16);
	ck_assert_int_eq(memcmp(text, TEXT, 16), 0);
	ck_assert_int_lt(recv(number, text, sizeof(text), MSG_DONTWAIT), 0);
}

static void open_eventfd(int number)
{
	put(eventfd(3, EFD_NONBLOCK), number);
}

static void expect_eventfd(int number)
{
	eventfd_t count = 0;

	ck_assert_int_eq(eventfd_read(number, &count), 0);
	ck_assert_uint_eq(count, 3);
}

/* What stands at the numbers of the library's descriptors. */
static const struct kind {
	void (*open)(int number);
	void (*expect)(int number);
} kinds[] = { { open_file, expect_file },
	      { open_socket, expect_socket },
	      { open_eventfd, expect_eventfd } };

/* closefrom(3), but for what check has open. */
static void close_all(void)
{
	int count = 0;

	for (int fd = 3; fd < NUMBERS; fd++) {
		ours[fd] = !before[fd] && fcntl(fd, F_GETFD) >= 0;
		count += ours[fd];
	}
	ck_assert_int_gt(count, 10);
	for (unsigned int fd = 3, end; fd < NUMBERS; fd = end + 1) {
		for (end = fd; end < NUMBERS && !before[end]; end++)
			;
		if (end > fd)
			ck_assert_int_eq(close_range(fd, end - 1, 0), 0);
	}
}

static void take_over(const struct kind *kind)
{
	close_all();
	for (int fd = 3; fd < NUMBERS; fd++) {
		if (!ours[fd])
			continue;
		kind->open(fd);
		ck_assert_int_eq(fstat(fd, &opened[fd]), 0);
	}
}

static void expect_untouched(const struct kind *kind)
{
	struct stat st;

	for (int fd = 3; fd < NUMBERS; fd++) {
		if (!ours[fd])
			continue;
		ck_assert_msg(fstat(fd, &st) == 0, "number %d was closed", fd);
		ck_assert_uint_eq(st.st_ino, opened[fd].st_ino);
		kind->expect(fd);
		close(fd);
	}
}

/* Background threads of the library, by their name: a sanitizer has threads of its own. */
static int background_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		char path[300], name[16] = "";
		FILE *comm;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		comm = fopen(path, "re");
		if (!comm)
			continue;
		if (fgets(name, sizeof(name), comm) && strcmp(name, "rxe_dm\n") == 0)
			count++;
		fclose(comm);
	}
	closedir(dir);
	return count;
}

static void talk(struct end *a, struct end *b, uint64_t wr_id)
{
	fill(a->memory, 20000, (uint32_t)wr_id);
	end_recv(b, wr_id, 100000, 20000);
	end_post(a, IBV_WR_SEND, wr_id, 0, 20000);
	end_wait_for(b, wr_id, IBV_WC_SUCCESS);
	end_wait_for(a, wr_id, IBV_WC_SUCCESS);
	expect_filled(b->memory + 100000, 20000, (uint32_t)wr_id);
}

static void begin(struct end *a, struct end *b)
{
	const struct end_cfg cfg = { .channel = true };

	note_before();
	ends_open(a, b, &cfg);
	for (uint64_t i = 0; i < 20; i++)
		talk(a, b, i);
	ck_assert_int_eq(ibv_req_notify_cq(b->cq, 0), 0);
	end_recv(b, 77, 0, 100);
}

START_TEST(device_dies_alone)
{
	const struct kind *kind = &kinds[_i];
	struct end a, b;

	begin(&a, &b);
	take_over(kind);
	while (background_threads() > 0)
		poll(NULL, 0, 1);

	ck_assert_int_eq(end_state(&a), IBV_QPS_ERR);
	end_wait_for(&b, 77, IBV_WC_WR_FLUSH_ERR);
	end_post(&a, IBV_WR_SEND, 78, 0, 100);
	end_wait_for(&a, 78, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	expect_untouched(kind);

	/* And a device can be opened again. */
	ends_open(&a, &b, NULL);
	talk(&a, &b, 1);
	ends_close(&a, &b);
}
END_TEST

/* Nothing can wake the background thread, and no process waits for it in vain. */
START_TEST(closed_at_once)
{
	const struct kind *kind = &kinds[_i];
	struct end a, b;

	begin(&a, &b);
	take_over(kind);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	ck_assert_int_eq(background_threads(), 0);
	expect_untouched(kind);
}
END_TEST

/* Closed, and nothing is opened in their place. */
START_TEST(numbers_stay_free)
{
	struct end a, b;

	begin(&a, &b);
	close_all();
	end_wait_for(&b, 77, IBV_WC_WR_FLUSH_ERR);
	while (background_threads() > 0)
		poll(NULL, 0, 1);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	for (int fd = 3; fd < NUMBERS; fd++)
		ck_assert(before[fd] || fcntl(fd, F_GETFD) < 0);
}
END_TEST

/* Who closes the numbers that programs use does not reach the library's. */
START_TEST(low_numbers)
{
	struct end a, b;

	begin(&a, &b);
	for (int fd = 3; fd < 256; fd++)
		if (!before[fd])
			close(fd);
	end_post(&a, IBV_WR_SEND, 77, 0, 100);
	end_wait_for(&a, 77, IBV_WC_SUCCESS);
	end_wait_for(&b, 77, IBV_WC_SUCCESS);
	talk(&a, &b, 78);
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, device_dies_alone, 0, 3);
	tcase_add_loop_test(tests, closed_at_once, 0, 3);
	tcase_add_test(tests, numbers_stay_free);
	tcase_add_test(tests, low_numbers);
}

int main(void)
{
	return fixture_main("verbs_closefrom", add);
}
