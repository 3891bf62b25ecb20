/* SPDX-License-Identifier: MIT */
/* Memory windows. */
#ifndef RXE_DM_SERVER_WINDOW_H
#define RXE_DM_SERVER_WINDOW_H

#include <stdbool.h>

struct object;

/* True: a window of any process is bound to this region. */
bool window_is_over(const struct object *mr);

#endif
