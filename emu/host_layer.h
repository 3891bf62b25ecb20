/* SPDX-License-Identifier: MIT */
/* A host over another host: how something is put between the engine and its host, such as a check
 * of what the engine does, or a device that is less kind. Layers stack in any number; what stands
 * between is decided once, before rxe_engine_init(), so a layer that is not there costs nothing.
 *
 * The layer's operations pass each call to the host below. The maker of a layer replaces those that
 * it is about. */
#ifndef RXE_EMU_HOST_LAYER_H
#define RXE_EMU_HOST_LAYER_H

#include "emu/host.h"

/* The first member of what a layer's operations get as host. */
struct rxe_host_layer {
	struct rxe_host_ops ops; /* for the engine, with the layer as host */
	const struct rxe_host_ops *below;
	void *below_host;
};

/* Passes all calls through. Operations that the host below does not have stay NULL. */
void rxe_host_layer_init(struct rxe_host_layer *layer, const struct rxe_host_ops *below,
			 void *below_host);

#endif
