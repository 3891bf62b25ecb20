/* SPDX-License-Identifier: MIT */
/* What sending returns: one turn of a transport at a train, and one packet of it. */
#ifndef RXE_EMU_OUTPUT_H
#define RXE_EMU_OUTPUT_H

enum output_result {
	/* Nothing to send now. */
	OUTPUT_IDLE,
	/* Packets were added or wait for credits; there may be more once this train is sent. */
	OUTPUT_ADDED,
	/* The next packet does not fit this train: send the train and ask again. */
	OUTPUT_TRAIN_FULL,
};

enum send_result {
	SEND_OK,
	SEND_TRAIN_FULL,
	/* The receiver's socket has no credits (pace.h). */
	SEND_NO_CREDITS,
	/* The payload's memory is not ready: try again after RXE_DEFER_NS. */
	SEND_DEFERRED,
	/* The payload cannot be read. */
	SEND_FAILED,
};

#endif
