/* Requests to this worker, and its answers. */
#include "tenon_host.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/socket.h>

#include "server.h"
#include "tenon_pools.h"

/* The number of slots that were taken. They are used in turn. */
static uint32_t taken;

static int32_t check_attached(void) {
  TN_REQUIRE(tn__host_command != NULL, "this process is not a worker");
  return TN_OK;
}

/* Waits until a slot has a state, or until `end`. */
static int32_t wait_for(uint32_t slot, uint32_t awaited, uint64_t end) {
  tn_host_header_t *header = tn__host_header();
  _Atomic uint32_t *state = TN__WORD(&tn__host_slot(tn__host_command, slot)->state);
  _Atomic uint32_t *requests = TN__WORD(&header->requests);
  while (*state != awaited) {
    const uint32_t seen = *requests;
    header->processor = (uint32_t)sched_getcpu() + 1;
    atomic_store(TN__WORD(&header->host_sleeps), 1);
    if (*state != awaited && *requests == seen) tn__futex_wait(requests, seen, end);
    atomic_store(TN__WORD(&header->host_sleeps), 0);
    if (*state != awaited && end != UINT64_MAX && tn__host_now() >= end)
      return tn__fail(TN_TIMED_OUT, "there is no request");
  }
  return TN_OK;
}

/* Tells the client that a slot has changed. */
static void respond(void) {
  tn_host_header_t *header = tn__host_header();
  atomic_fetch_add(TN__WORD(&header->responses), 1);
  if (*TN__WORD(&header->client_sleeps) != 0) tn__futex_wake(TN__WORD(&header->responses), INT32_MAX);
  if (*TN__WORD(&header->ring) != 0 && atomic_exchange(TN__WORD(&header->ring), 0) != 0)
    /* A full doorbell is rung already. */
    send(TN_HOST_DOORBELL, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int32_t tn_host_take(uint32_t *slot, int64_t timeout) {
  TN_TRY(check_attached());
  TN_REQUIRE(slot != NULL, "slot must not be null");
  const uint32_t next = taken % TN_HOST_SLOTS;
  TN_TRY(wait_for(next, TN_HOST_POSTED, tn__host_end_of(timeout)));
  taken++;
  tn_host_header_t *header = tn__host_header();
  const tn_host_slot_t *request = tn__host_slot(tn__host_command, next);
  header->slot = next;
  header->refused_bytes = 0;
  atomic_store(TN__LONG(&header->deadline), request->deadline);
  atomic_store(TN__LONG(&header->id), request->id);
  atomic_store(TN__WORD(&header->phase), request->operation == TN_HOST_RUN      ? TN_HOST_RUNNING
                                         : request->operation == TN_HOST_KERNEL ? TN_HOST_PREPARING
                                                                                : TN_HOST_CONTROLLING);
  *slot = next;
  return TN_OK;
}

int32_t tn_host_answer(uint32_t slot) {
  TN_TRY(check_attached());
  TN_REQUIRE(slot < TN_HOST_SLOTS, "slot must be below %u, got %u", TN_HOST_SLOTS, slot);
  tn_host_header_t *header = tn__host_header();
  tn_host_slot_t *answered = tn__host_slot(tn__host_command, slot);
  /* So that the error has what the kernel wrote before. */
  if (answered->status != TN_OK && (header->flags & TN_HOST_CAPTURE) != 0) tn__host_move_output();
  atomic_store(TN__LONG(&header->deadline), UINT64_MAX);
  atomic_store(TN__WORD(&header->phase), TN_HOST_IDLE);
  atomic_store(TN__WORD(&answered->state), TN_HOST_DONE);
  respond();
  return TN_OK;
}

int32_t tn_host_call_back(uint32_t slot) {
  TN_TRY(check_attached());
  TN_REQUIRE(slot < TN_HOST_SLOTS, "slot must be below %u, got %u", TN_HOST_SLOTS, slot);
  tn_host_header_t *header = tn__host_header();
  const uint32_t phase = atomic_exchange(TN__WORD(&header->phase), TN_HOST_CALLING_BACK);
  atomic_store(TN__WORD(&tn__host_slot(tn__host_command, slot)->state), TN_HOST_CALLBACK);
  respond();
  const int32_t status = wait_for(slot, TN_HOST_RETURNED, UINT64_MAX);
  atomic_store(TN__WORD(&header->phase), phase);
  return status;
}

int32_t tn_host_receive_memory(uint32_t id, int32_t *descriptor) {
  TN_TRY(check_attached());
  TN_REQUIRE(descriptor != NULL, "descriptor must not be null");
  uint32_t received = 0;
  int32_t descriptors[TN_FRAME_DESCRIPTORS];
  size_t length = 0, count = 0;
  /* The client sends the descriptor before it posts the request. */
  TN_TRY(tn_shared_memory_receive(TN_HOST_CONTROL, &received, sizeof received, &length, descriptors, &count, 0));
  if (count == 1 && length == sizeof received && received == id) {
    *descriptor = descriptors[0];
    return TN_OK;
  }
  for (size_t i = 0; i < count; i++) tn_descriptor_discard(descriptors[i]);
  return tn__fail(TN_INVALID_ARGUMENT, "a message must have the descriptor of memory %u, got %zu of memory %u", id, count,
                  received);
}

int32_t tn_host_is_cancelled(void) {
  if (tn__host_command == NULL) return 0;
  tn_host_header_t *header = tn__host_header();
  if (*TN__WORD(&header->phase) == TN_HOST_IDLE) return 0;
  return *TN__WORD(&header->cancel) == (uint32_t)*TN__LONG(&header->id) || tn__host_now() > *TN__LONG(&header->deadline);
}

#else
#include "base/status.h"

int32_t tn_host_is_cancelled(void) { return 0; }
#endif
