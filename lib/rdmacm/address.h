/* SPDX-License-Identifier: MIT */
/* Addresses, as the server and as programs have them. */
#ifndef RXE_RDMACM_ADDRESS_H
#define RXE_RDMACM_ADDRESS_H

#include "lib/rdmacm/id.h"

/* Bytes of an address; 0: NULL, or of a family that the connection manager does not know. */
size_t rcm_address_len(const struct sockaddr *addr);
/* EINVAL: as above. ENODEV: of the family AF_IB. */
int rcm_address_pack(union ctl_cm_sockaddr *ret, const struct sockaddr *addr);
/* Fills addresses, GIDs, port and path of an id, and binds it to its device. 0 or a positive
 * errno. */
int rcm_address_fill(struct rcm_id *id, const struct ctl_cm_addr *addr);

#endif
