/* SPDX-License-Identifier: MIT */
/* The golden packets of tests/wire for tests, read by libpcap. The headers are parsed by hand here,
 * so that the tests do not depend on the code under test. */
#include "wire_vectors.h"

#include <dirent.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VECTORS  2000u
#define MAX_FILES    100u
#define ETHERNET_LEN 14u

static struct vector vectors[MAX_VECTORS];
static size_t num_vectors;

static void give_up(const char *file, const char *why)
{
	(void)fprintf(stderr, "tests/wire/%s: %s\n", file, why);
	exit(EXIT_FAILURE);
}

uint8_t *exact_copy(const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, p, len);
	return copy;
}

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void map_v4(struct gid *ret, const uint8_t *p)
{
	memset(ret->raw, 0, 10);
	memset(ret->raw + 10, 0xff, 2);
	memcpy(ret->raw + 12, p, 4);
}

/* Parses the IP header at p. Returns the UDP header; NULL: not RoCE. */
static const uint8_t *take_ip(struct vector *v, const uint8_t *p)
{
	if (p[0] == 0x45 && p[9] == 17) {
		v->traffic_class = p[1];
		v->ip_id = be16(p + 4);
		v->hop_limit = p[8];
		map_v4(&v->flow.src, p + 12);
		map_v4(&v->flow.dst, p + 16);
		return p + 20;
	}
	if (p[0] >> 4 == 6 && p[6] == 17) {
		v->traffic_class = (uint8_t)(be16(p) >> 4);
		v->flow_label = (uint32_t)(p[1] & 0xf) << 16 | be16(p + 2);
		v->hop_limit = p[7];
		memcpy(v->flow.src.raw, p + 8, 16);
		memcpy(v->flow.dst.raw, p + 24, 16);
		return p + 40;
	}
	return NULL;
}

static void add(const char *file, uint32_t number, const uint8_t *frame, size_t len)
{
	struct vector *v = &vectors[num_vectors];
	const uint8_t *udp;

	if (num_vectors == MAX_VECTORS)
		give_up(file, "more packets than MAX_VECTORS");
	*v = (struct vector){ .file = file, .number = number };
	v->frame = exact_copy(frame, len);
	v->frame_len = len;
	udp = take_ip(v, v->frame + ETHERNET_LEN);
	if (!udp || be16(udp + 2) != 4791)
		give_up(file, "a packet that is not RoCEv2");
	v->flow.src_port = be16(udp);
	v->p = udp + 8;
	v->len = be16(udp + 4) - 8u;
	if (v->p + v->len != v->frame + len)
		give_up(file, "a frame that is longer or shorter than its packet");
	num_vectors++;
}

static void load_file(const char *file)
{
	char path[1000], why[PCAP_ERRBUF_SIZE];
	const uint8_t *frame;
	struct pcap_pkthdr *header;
	uint32_t number = 0;
	pcap_t *pcap;

	(void)snprintf(path, sizeof(path), "%s/%s", VECTORS_FOLDER, file);
	pcap = pcap_open_offline(path, why);
	if (!pcap)
		give_up(file, why);
	if (pcap_datalink(pcap) != DLT_EN10MB)
		give_up(file, "not a capture of Ethernet");
	while (pcap_next_ex(pcap, &header, &frame) == 1)
		add(file, ++number, frame, header->caplen);
	pcap_close(pcap);
}

static int is_capture(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".pcap") == 0;
}

size_t vectors_load(const struct vector **ret)
{
	struct dirent **names;
	const int n = scandir(VECTORS_FOLDER, &names, is_capture, alphasort);

	if (n <= 0 || n > (int)MAX_FILES)
		give_up("*.pcap", "cannot be read");
	for (int i = 0; i < n; i++) {
		load_file(strdup(names[i]->d_name)); /* the vectors point to it */
		free(names[i]);
	}
	free(names);
	*ret = vectors;
	return num_vectors;
}
