/* SPDX-License-Identifier: MIT */
/* The command `rdma`, which shows our devices in the formats of iproute2's rdma(8).
 * iproute2's command asks the kernel, which does not know our devices. */
#ifndef RXE_DM_COMMAND_RDMA_H
#define RXE_DM_COMMAND_RDMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "rxe_dm/command/view.h"

struct rdma_output {
	bool json, pretty, details;
	json_t *lines; /* json: an array of objects, printed at the end */
};

/* A line of the output: "NAME VALUE NAME VALUE ", or an object. */
struct rdma_line {
	struct rdma_output *output;
	json_t *object;
};

/* The first two begin a line that names a device: "dev NAME " and "link NAME/1 ". */
struct rdma_line rdma_begin_dev(struct rdma_output *output, const struct view_device *device);
struct rdma_line rdma_begin_link(struct rdma_output *output, const struct view_device *device);
/* "INDEX: NAME: " */
struct rdma_line rdma_begin(struct rdma_output *output, const struct view_device *device);
void rdma_text(struct rdma_line *line, const char *name, const char *value);
void rdma_number(struct rdma_line *line, const char *name, uint64_t value);
/* Used in JSON output only. */
void rdma_json_number(struct rdma_line *line, const char *name, uint64_t value);
/* As part of a group of many: on a line of its own with -p. */
void rdma_counter(struct rdma_line *line, const char *name, uint64_t value);
void rdma_end(struct rdma_line *line);

#endif
