// SPDX-License-Identifier: MIT
/* Keeps and lists findings. */
#include "rxe_dm/server/findings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/findings/record.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"

/* Memory of the right size that no process can shrink: a reader maps it without risk. */
static bool is_sound(int fd)
{
	struct stat st;
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 &&
	       st.st_size == (off_t)sizeof(struct findings);
}

static uint32_t num_kept(const struct kept_findings *kept)
{
	return kept->count < FINDINGS_KEPT ? kept->count : FINDINGS_KEPT;
}

static int keep(struct kept_findings *kept, struct call *call)
{
	int *place = &kept->fd[kept->count % FINDINGS_KEPT];

	if (!is_sound(call->in_fd))
		return -EINVAL;
	if (kept->count >= FINDINGS_KEPT)
		close(*place);
	*place = call->in_fd;
	call->in_fd = -1;
	kept->count++;
	return 0;
}

/* Oldest first. */
static int list(const struct kept_findings *kept, struct call *call)
{
	const uint32_t count = num_kept(kept);

	call->reply.findings.count = count;
	if (call->req.handle >= count)
		return 0;
	call->out_fd[0] = kept->fd[(kept->count - count + call->req.handle) % FINDINGS_KEPT];
	call->num_out = call->keep_out = 1;
	return 0;
}

int serve_findings(struct call *call)
{
	struct kept_findings *kept = &call->conn->instance->findings;

	return call->in_fd >= 0 ? keep(kept, call) : list(kept, call);
}

void findings_close(struct kept_findings *kept)
{
	for (uint32_t i = 0; i < num_kept(kept); i++)
		close(kept->fd[i]);
	kept->count = 0;
}
