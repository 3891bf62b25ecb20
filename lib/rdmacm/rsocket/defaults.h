/* SPDX-License-Identifier: MIT */
/* Options of an rsocket that nobody has set: from files of one number each under
 * /etc/rdma/rsocket, as rsocket(7) names them, else built-in. */
#ifndef RXE_RSOCKET_DEFAULTS_H
#define RXE_RSOCKET_DEFAULTS_H

#include <stdint.h>

struct rs_options;

#define RS_BYTES_MIN   4096
#define RS_BYTES_MAX   (1u << 28)
#define RS_ENTRIES_MIN 16
#define RS_ENTRIES_MAX 0xfffe
#define RS_IOMAP_MAX   0x7f00 /* entries that the private data can express */

/* value, or the nearer bound. */
uint32_t rs_bounded(int64_t value, uint32_t least, uint32_t most);
void rs_options_default(struct rs_options *ret);
/* Time for which a call polls before it waits. */
int64_t rs_polling_ns(void);

#endif
