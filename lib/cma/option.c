// SPDX-License-Identifier: MIT
/* Options of an id (rdma_set_option(3)). */
#include <errno.h>
#include <string.h>

#include "lib/cma/private.h"

#define MAX_ACK_TIMEOUT 31

static int get_byte(const void *value, size_t len, uint8_t *ret)
{
	if (len != sizeof(*ret))
		return -EINVAL;
	memcpy(ret, value, sizeof(*ret));
	return 0;
}

static int get_flag(const void *value, size_t len, bool *ret)
{
	int number;

	if (len != sizeof(number))
		return -EINVAL;
	memcpy(&number, value, sizeof(number));
	*ret = number != 0;
	return 0;
}

static int set_reuse_address(struct rdma_id *id, const void *value, size_t len)
{
	bool reuse;
	int rc = get_flag(value, len, &reuse);

	if (rc == 0 && id->state != ID_IDLE && (!reuse || id->state == ID_LISTEN))
		rc = -EINVAL;
	if (rc == 0)
		id->reuse_address = reuse;
	return rc;
}

static int set_af_only(struct rdma_id *id, const void *value, size_t len)
{
	bool only;
	int rc = get_flag(value, len, &only);

	if (rc == 0 && id->state != ID_IDLE && id->state != ID_BOUND)
		rc = -EINVAL;
	if (rc == 0) {
		id->af_only = only;
		id->af_only_set = true;
	}
	return rc;
}

static int set_ack_timeout(struct rdma_id *id, const void *value, size_t len)
{
	uint8_t timeout;
	int rc = get_byte(value, len, &timeout);

	if (rc == 0 && (timeout > MAX_ACK_TIMEOUT ||
			(id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND)))
		rc = -EINVAL;
	if (rc == 0) {
		id->ack_timeout = timeout;
		id->has_ack_timeout = true;
	}
	return rc;
}

int rdma_id_set_option(struct rdma_id *id, uint32_t level, uint32_t name, const void *value,
		       size_t len)
{
	if (level != RCM_OPTION_ID)
		return -ENOSYS;
	switch ((enum rcm_option)name) {
	case RCM_OPTION_ID_TOS: return get_byte(value, len, &id->traffic_class);
	case RCM_OPTION_ID_REUSEADDR: return set_reuse_address(id, value, len);
	case RCM_OPTION_ID_AFONLY: return set_af_only(id, value, len);
	case RCM_OPTION_ID_ACK_TIMEOUT: return set_ack_timeout(id, value, len);
	}
	return -ENOSYS;
}
