/* SPDX-License-Identifier: MIT */
/* XRC target queue pairs, which several processes share (ibv_open_qp(3)). A target is in the engine
 * of the process that created it, until the last process that has it open closes it. */
#ifndef RXE_VERBS_TARGET_H
#define RXE_VERBS_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/abi/newer.h"

struct progress;
struct rxe_qp;
struct vb_device;
struct vb_qp;

struct ibv_qp *vb_target_open(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/* An XRC target was created in this process: tells the server. 0 or an errno. */
int vb_target_announce(struct vb_qp *qp);
/* The program destroys a queue pair that vb_target_open() made. */
void vb_target_close(struct vb_qp *qp);
/* The program destroys an XRC target that it created. True: others have it open, and it lives on;
 * the program's queue pair must not be touched any more. */
bool vb_target_lives_on(struct vb_qp *qp);
/* qp.c: ends a target that lived on, and frees it. */
void vb_target_end(struct vb_qp *qp);
/* A context is about to close; object: a struct vb_qp that lived on (VB_KIND_TARGET). */
int vb_target_abandon(void *object);
/* The server tells that no process has this target open any more. */
void vb_target_unused(struct vb_device *dev, uint32_t qpn);
/* An event of an XRC target of this process, for all others who opened it. */
void vb_target_tell(struct vb_device *dev, uint32_t type, uint32_t qpn);
/* struct progress_owner: qp_modified. */
void vb_target_modified(struct progress *progress, struct rxe_qp *qp);

#endif
