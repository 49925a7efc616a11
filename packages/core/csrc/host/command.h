/* Command memory and its futexes, for both sides. Only Linux has workers. */
#ifndef TENON_HOST_COMMAND_H
#define TENON_HOST_COMMAND_H

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "tenon_host.h"

_Static_assert(offsetof(tn_host_header_t, requests) == 64, "the layout of command memory is fixed");
_Static_assert(offsetof(tn_host_header_t, responses) == 128, "the layout of command memory is fixed");
_Static_assert(offsetof(tn_host_header_t, life) == 192, "the layout of command memory is fixed");
_Static_assert(offsetof(tn_host_header_t, phase) == 256, "the layout of command memory is fixed");
_Static_assert(offsetof(tn_host_header_t, crash_kind) == 512, "the layout of command memory is fixed");
_Static_assert(sizeof(tn_host_header_t) <= TN_HOST_SLOTS_OFFSET, "the slots follow the header");
_Static_assert(sizeof(tn_host_slot_t) + TN_HOST_OPERANDS * sizeof(tn_host_operand_t) <= TN_HOST_SLOT_SIZE,
               "a slot has room for its operands");
_Static_assert(TN_HOST_OUTPUT_OFFSET + sizeof(tn_host_output_t) <= TN_HOST_MODULES_OFFSET, "the modules follow the output");
_Static_assert(TN_HOST_MODULES_OFFSET + TN_HOST_MODULES_SIZE <= TN_HOST_COMMAND_SIZE, "the modules fit");

/* The words of command memory that both sides change at any time. */
#define TN__WORD(place) ((_Atomic uint32_t *)(void *)(place))
#define TN__LONG(place) ((_Atomic uint64_t *)(void *)(place))

static inline tn_host_slot_t *tn__host_slot(uint8_t *command, uint32_t index) {
  return (tn_host_slot_t *)(void *)(command + TN_HOST_SLOTS_OFFSET + (size_t)index * TN_HOST_SLOT_SIZE);
}

static inline uint64_t tn__host_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time at which a wait of `timeout` ns ends; UINT64_MAX for none. */
static inline uint64_t tn__host_end_of(int64_t timeout) {
  if (timeout < 0) return UINT64_MAX;
  const uint64_t now = tn__host_now();
  return (uint64_t)timeout > UINT64_MAX - 1 - now ? UINT64_MAX : now + (uint64_t)timeout;
}

/* Waits while the word has this value, until an absolute time (UINT64_MAX: forever). Wakes early at times. */
static inline void tn__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t end) {
  const struct timespec until = {.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, end == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static inline void tn__futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

#endif
