/* SPDX-License-Identifier: MIT */
/* Captures: the golden packets written as pcapng and read back by libpcap (times to the nanosecond,
 * IP and UDP headers the same bytes as rdma_rxe's) and by tshark (nothing malformed, comments and
 * directions in their places). */
#include <check.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/link/capture/pcapng.h"
#include "tests/suite.h"
#include "wire_vectors.h"

#define START_NS 1700000000123456789ull
#define STEP_NS	 1000000007ull
#define COMMENT	 "pid 7, QP 0x11, wr 3: dropped by rule 1"

static const struct vector *vectors;
static size_t num_vectors;

static struct capture_packet packet_of(size_t i)
{
	const struct vector *v = &vectors[i];

	return (struct capture_packet){
		.time_ns = START_NS + i * STEP_NS,
		.sent = i % 2,
		.src = v->flow.src,
		.dst = v->flow.dst,
		.src_port = v->flow.src_port,
		.ip_id = v->ip_id,
		.traffic_class = v->traffic_class,
		.hop_limit = v->hop_limit,
		.flow_label = v->flow_label,
		.p = v->p,
		.len = (uint32_t)v->len,
		.comment = i % 3 ? NULL : COMMENT,
	};
}

/* Writes all packets to a new file. The caller frees its name and removes it. */
static char *write_all(void)
{
	char *path = strdup("capture-XXXXXX");
	const int fd = mkstemp(path);
	FILE *file = fdopen(fd, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(capture_write_start(file, "rxe_dm0"), 0);
	for (size_t i = 0; i < num_vectors; i++) {
		const struct capture_packet packet = packet_of(i);

		ck_assert_int_gt(capture_write_packet(file, &packet), 0);
	}
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

static void remove_file(char *path)
{
	ck_assert_int_eq(unlink(path), 0);
	free(path);
}

START_TEST(read_by_libpcap)
{
	char *path = write_all(), why[PCAP_ERRBUF_SIZE];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, why);
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	size_t n = 0;

	ck_assert_msg(pcap != NULL, "%s", why);
	ck_assert_int_eq(pcap_datalink(pcap), DLT_EN10MB);
	while (pcap_next_ex(pcap, &header, &frame) == 1) {
		const struct vector *v = &vectors[n];

		ck_assert_uint_lt(n, num_vectors);
		ck_assert_uint_eq((uint64_t)header->ts.tv_sec * 1000000000u +
					  (uint64_t)header->ts.tv_usec,
				  START_NS + n * STEP_NS);
		ck_assert_uint_eq(header->caplen, v->frame_len);
		ck_assert_uint_eq(header->len, v->frame_len);
		ck_assert_mem_eq(frame + 12, v->frame + 12, v->frame_len - 12);
		n++;
	}
	ck_assert_uint_eq(n, num_vectors);
	pcap_close(pcap);
	remove_file(path);
}
END_TEST

static bool have_tshark(void)
{
	/* NOLINTNEXTLINE(cert-env33-c): the string is fixed */
	return system("tshark --version >/dev/null 2>&1") == 0;
}

/* Returns a field of a line that tshark wrote, which tabs separate. */
static void field(char *ret, size_t room, const char *line, int index)
{
	size_t n;

	while (index-- > 0)
		line = strchr(line, '\t') + 1;
	n = strcspn(line, "\t\n");
	ck_assert_uint_lt(n, room);
	memcpy(ret, line, n);
	ret[n] = 0;
}

/* Expects these fields for packet i: malformed, opcode, comment, flags, ICRC. */
static void expect_line(size_t i, const char *line)
{
	char text[200], want[20];
	const uint32_t icrc_at = (uint32_t)vectors[i].len - 4;
	const uint8_t *p = vectors[i].p;

	field(text, sizeof(text), line, 0);
	ck_assert_msg(text[0] == 0, "tshark calls packet %zu malformed", i + 1);
	field(text, sizeof(text), line, 1);
	ck_assert_uint_eq(strtoul(text, NULL, 0), p[0]);
	field(text, sizeof(text), line, 2);
	ck_assert_str_eq(text, i % 3 ? "" : COMMENT);
	field(text, sizeof(text), line, 3);
	ck_assert_uint_eq(strtoul(text, NULL, 0) & 3, i % 2 ? 2 : 1);
	field(text, sizeof(text), line, 4);
	(void)snprintf(want, sizeof(want), "0x%02x%02x%02x%02x", p[icrc_at], p[icrc_at + 1],
		       p[icrc_at + 2], p[icrc_at + 3]);
	ck_assert_str_eq(text, want);
}

/* rpcordma is turned off: its heuristics claim payloads and then report them as malformed. */
START_TEST(read_by_tshark)
{
	char command[400], line[1000];
	char *path;
	size_t n = 0;
	FILE *out;

	if (!have_tshark()) {
		(void)puts("skipped: tshark is not installed");
		return;
	}
	path = write_all();
	(void)snprintf(command, sizeof(command),
		       "tshark -n -r %s --disable-protocol rpcordma -T fields -e _ws.malformed -e "
		       "infiniband.bth.opcode "
		       "-e frame.comment -e frame.packet_flags -e infiniband.invariant.crc "
		       "2>/dev/null",
		       path);
	out = popen(command, "r"); /* NOLINT(cert-env33-c): made of fixed strings */
	ck_assert_ptr_nonnull(out);
	while (fgets(line, sizeof(line), out)) {
		ck_assert_uint_lt(n, num_vectors);
		expect_line(n++, line);
	}
	ck_assert_int_eq(pclose(out), 0);
	ck_assert_uint_eq(n, num_vectors);
	remove_file(path);
}
END_TEST

START_TEST(room_is_checked)
{
	static uint8_t block[CAPTURE_PACKET_ROOM(FRAME_MAX_PAYLOAD + 1)];
	static const uint8_t bytes[FRAME_MAX_PAYLOAD + 1] = { 0 };
	struct capture_packet packet = packet_of(0);
	size_t n;

	ck_assert_uint_eq(capture_format_start(block, CAPTURE_START_ROOM - 1, "x"), 0);
	n = capture_format_start(block, CAPTURE_START_ROOM, "x");
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(n % 4, 0);

	packet.p = bytes;
	for (packet.len = 0; packet.len < 70; packet.len++) {
		ck_assert_uint_eq(
			capture_format_packet(block, CAPTURE_PACKET_ROOM(packet.len) - 1, &packet),
			0);
		n = capture_format_packet(block, CAPTURE_PACKET_ROOM(packet.len), &packet);
		ck_assert_uint_gt(n, packet.len);
		ck_assert_uint_eq(n % 4, 0);
		ck_assert_uint_eq((unsigned int)(block[4] | block[5] << 8), n);
		ck_assert_mem_eq(block + 4, block + n - 4, 4);
	}
	packet.len = FRAME_MAX_PAYLOAD;
	ck_assert_uint_gt(capture_format_packet(block, sizeof(block), &packet), 0);
	packet.len = FRAME_MAX_PAYLOAD + 1;
	ck_assert_uint_eq(capture_format_packet(block, sizeof(block), &packet), 0);
}
END_TEST

/* Comments and names of any length fit the room that the header promises. */
START_TEST(long_texts)
{
	char text[3 * CAPTURE_COMMENT_MAX];
	struct capture_packet packet = packet_of(0);

	packet.comment = text;
	for (size_t len = 0; len < sizeof(text); len += 1 + len / 7) {
		const size_t room = CAPTURE_PACKET_ROOM(packet.len);
		uint8_t *block = exact_copy((uint8_t[CAPTURE_START_ROOM]){ 0 }, CAPTURE_START_ROOM);

		memset(text, 'x', len);
		text[len] = 0;
		ck_assert_uint_gt(capture_format_start(block, CAPTURE_START_ROOM, text), 0);
		free(block);
		block = malloc(room);
		ck_assert_ptr_nonnull(block);
		ck_assert_uint_gt(capture_format_packet(block, room, &packet), len / 4);
		free(block);
	}
}
END_TEST

START_TEST(full_disk)
{
	FILE *file = fopen("/dev/full", "wb");
	const struct capture_packet packet = packet_of(0);
	ssize_t rc = 0;

	if (!file)
		return;
	for (int i = 0; rc >= 0 && i < 1000; i++)
		rc = capture_write_packet(file, &packet);
	ck_assert_int_eq(rc, -ENOSPC);
	(void)fclose(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture");
	TCase *tc = tcase_create("pcapng");

	num_vectors = vectors_load(&vectors);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, read_by_libpcap);
	tcase_add_test(tc, read_by_tshark);
	tcase_add_test(tc, room_is_checked);
	tcase_add_test(tc, long_texts);
	tcase_add_test(tc, full_disk);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
