/* SPDX-License-Identifier: MIT */
/* The name that whoever has a device's address listens on. */
#ifndef RXE_DM_SERVER_ADDRESS_H
#define RXE_DM_SERVER_ADDRESS_H

#include <sys/socket.h>

#include "net/wire/gid.h"

struct sockaddr_un;

#define ADDRESS_LOCK_PREFIX "rxe_dm/4791/"

/* \0rxe_dm/4791/ADDRESS; returns its length. */
socklen_t address_lock_name(struct sockaddr_un *ret, const struct gid *gid);

#endif
