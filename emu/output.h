/* SPDX-License-Identifier: MIT */
/* What a transport answers when it is asked to fill a train. */
#ifndef RXE_EMU_OUTPUT_H
#define RXE_EMU_OUTPUT_H

enum output_result {
	OUTPUT_IDLE, /* nothing to send now */
	OUTPUT_ADDED, /* packets were added, or must wait for room; there may be more when this train has gone */
	OUTPUT_TRAIN_FULL, /* the next packet does not fit this train: send it and ask again */
};

#endif
