// SPDX-License-Identifier: MIT
/* Lines of `rdma`, as text or JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "rxe_dm/command/rdma.h"

static struct rdma_line begin(struct rdma_output *output, const struct view_device *device)
{
	struct rdma_line ret = { .output = output };

	if (output->json) {
		ret.object = json_object();
		rdma_json_number(&ret, "ifindex", device->info.index);
		rdma_text(&ret, "ifname", device->info.name);
	}
	return ret;
}

struct rdma_line rdma_begin(struct rdma_output *output, const struct view_device *device)
{
	if (!output->json)
		printf("%u: %s: ", device->info.index, device->info.name);
	return begin(output, device);
}

struct rdma_line rdma_begin_dev(struct rdma_output *output, const struct view_device *device)
{
	if (!output->json)
		printf("dev %s ", device->info.name);
	return begin(output, device);
}

struct rdma_line rdma_begin_link(struct rdma_output *output, const struct view_device *device)
{
	struct rdma_line ret = begin(output, device);

	if (output->json)
		rdma_json_number(&ret, "port", 1);
	else
		printf("link %s/1 ", device->info.name);
	return ret;
}

void rdma_text(struct rdma_line *line, const char *name, const char *value)
{
	json_t *string;

	if (!line->output->json) {
		printf("%s %s ", name, value);
		return;
	}
	string = json_string(value); /* the name of a program need not be UTF-8 */
	json_object_set_new(line->object, name, string ? string : json_string("?"));
}

void rdma_json_number(struct rdma_line *line, const char *name, uint64_t value)
{
	if (line->output->json)
		json_object_set_new(line->object, name, json_integer((json_int_t)value));
}

void rdma_number(struct rdma_line *line, const char *name, uint64_t value)
{
	rdma_json_number(line, name, value);
	if (!line->output->json)
		printf("%s %" PRIu64 " ", name, value);
}

void rdma_counter(struct rdma_line *line, const char *name, uint64_t value)
{
	if (line->output->pretty && !line->output->json)
		printf("\n    ");
	rdma_number(line, name, value);
}

void rdma_end(struct rdma_line *line)
{
	if (line->output->json)
		json_array_append_new(line->output->lines, line->object);
	else
		printf("\n");
}
