// SPDX-License-Identifier: MIT
/* The table of checks, and lists of them. */
#include "lib/findings/table.h"

#include <string.h>
#include <strings.h>

const struct check_row check_table[CHECK_END] = {
	[CHECK_MEM_SEND_CHANGED] = {
		"RXE-MEM-001", "send-buffer-changed",
		"A send buffer was changed before its completion was polled.",
		"ibv_post_send(3): the buffers used by a WR can only be safely reused after the WR "
		"has been fully executed and a WCE has been retrieved; IBTA 10.7.3.1",
		"Poll the completion of the request, or of a later signalled request of the same "
		"queue pair, before you write to the buffer; or copy the bytes into the request "
		"(IBV_SEND_INLINE).",
	},
	[CHECK_MEM_OVERLAP] = {
		"RXE-MEM-002", "receives-overlap",
		"Two outstanding requests write to the same bytes: receives, RDMA READs or atomics.",
		"ibv_post_recv(3): the buffers used by a WR can only be safely reused after the WR has "
		"been fully executed; IBTA 10.7.3.1",
		"Give each outstanding request a buffer of its own.",
	},
	[CHECK_QUEUE_CQ_OVERFLOW] = {
		"RXE-QUEUE-001", "cq-can-overflow",
		"More requests are outstanding than their completion queue has entries.",
		"ibv_create_cq(3) and IBTA 11.2.8.1: a completion queue that overruns is lost, with all "
		"its queue pairs",
		"Create the completion queue with at least as many entries as signalled sends and "
		"receives can be outstanding, or poll before you post more.",
	},
	[CHECK_QUEUE_UNSIGNALLED] = {
		"RXE-QUEUE-002", "unsignalled-never-freed",
		"The send queue is full of unsignalled requests: no completion will ever free an entry.",
		"ibv_post_send(3), IBTA 10.8.2.2: entries of unsignalled requests are freed by the "
		"completion of a later signalled one",
		"Set IBV_SEND_SIGNALED at least once in every max_send_wr requests, and poll its "
		"completion.",
	},
	[CHECK_EVENT_LOST_WAKE_UP] = {
		"RXE-EVENT-001", "lost-wake-up",
		"The program waits for a completion event without having polled since it armed the "
		"queue: a completion that came before brings no event.",
		"ibv_get_cq_event(3), ibv_req_notify_cq(3): an event is generated for the first "
		"completion that is added after the call",
		"After ibv_req_notify_cq(), poll until the queue is empty, and only then wait.",
	},
	[CHECK_EVENT_NOT_ACKED] = {
		"RXE-EVENT-002", "events-not-acknowledged",
		"A completion queue is destroyed with unacknowledged events: ibv_destroy_cq() waits "
		"forever.",
		"ibv_get_cq_event(3): ibv_destroy_cq() waits for all completion events to be "
		"acknowledged",
		"Call ibv_ack_cq_events() for each event that ibv_get_cq_event() returned.",
	},
	[CHECK_LIFE_LEAK_CLOSE] = {
		"RXE-LIFE-001", "leaked-at-close",
		"The device was closed while objects of its context were alive.",
		"ibv_close_device(3): the call does not release the resources allocated by the context",
		"Destroy the objects in the reverse order of their making before ibv_close_device().",
	},
	[CHECK_LIFE_LEAK_EXIT] = {
		"RXE-LIFE-002", "leaked-at-exit",
		"The program ended with objects that it had not destroyed.",
		"ibv_open_device(3), and the manual page of each object: what a program makes it "
		"destroys",
		"Destroy the objects and close the device before the program ends.",
	},
	[CHECK_LIFE_USE_AFTER] = {
		"RXE-LIFE-003", "used-after-destroy",
		"An object was used after it had been destroyed.",
		"the manual page of the verb that destroys the object",
		"Keep the object until the last use; drop every copy of its pointer when it is "
		"destroyed.",
	},
	[CHECK_LIFE_TWICE] = {
		"RXE-LIFE-004", "destroyed-twice",
		"An object was destroyed twice.",
		"the manual page of the verb that destroys the object",
		"Destroy each object once; set the pointer to NULL.",
	},
	[CHECK_LIFE_OUTSTANDING] = {
		"RXE-LIFE-005", "destroyed-with-requests",
		"A queue pair was destroyed while send requests were outstanding: whether they reach "
		"the peer is undefined.",
		"ibv_destroy_qp(3); IBTA 10.2.4.3: outstanding requests are discarded",
		"Poll the completion of the last request first, or move the queue pair to the error "
		"state and poll what is flushed.",
	},
};

static bool is_of(const struct check_row *row, const char *word, size_t len)
{
	const char *group = row->id + strlen("RXE-");
	const size_t group_len = strcspn(group, "-");

	return (strlen(row->id) == len && strncasecmp(row->id, word, len) == 0) ||
	       (strlen(row->name) == len && strncasecmp(row->name, word, len) == 0) ||
	       (group_len == len && strncasecmp(group, word, len) == 0) ||
	       (len == 3 && strncasecmp("all", word, len) == 0) || (len == 1 && *word == '1');
}

const struct check_row *check_find(const char *id)
{
	for (size_t i = 0; i < CHECK_END; i++) {
		if (strcmp(check_table[i].id, id) == 0)
			return &check_table[i];
	}
	return NULL;
}

static bool set_word(const char *word, size_t len, bool value, bool on[static CHECK_END])
{
	bool found = false;

	for (size_t i = 0; i < CHECK_END; i++) {
		if (is_of(&check_table[i], word, len)) {
			on[i] = value;
			found = true;
		}
	}
	return found;
}

const char *check_select(const char *list, bool on[static CHECK_END])
{
	const bool all = *list == '\0' || *list == '-';

	for (size_t i = 0; i < CHECK_END; i++)
		on[i] = all;
	while (*list) {
		const size_t len = strcspn(list, ",");
		const bool out = *list == '-';

		if (len > 0 && !set_word(list + out, len - out, !out, on))
			return list;
		list += len + (list[len] == ',');
	}
	return NULL;
}
