/* A walk over accepted messages, for the fuzz program and the tests of message.c. */
#ifndef TENON_FUZZ_FRAME_WALK_H
#define TENON_FUZZ_FRAME_WALK_H

#include <string.h>

#include "tenon_pools.h"

/* Reads every byte of an accepted message, so that the sanitizer finds overruns. Returns the first error, or null. */
static inline const char *frame_fault(const uint8_t *bytes, size_t size) {
  tn_frame_t frame;
  memcpy(&frame, bytes, sizeof frame);
  if (frame.length != size) return "wrong length";
  if ((frame.operation & ~TN_FRAME_REPLY) != TN_FRAME_EXECUTE || frame.status != 0) return NULL;
  size_t at = sizeof frame;
  uint64_t dimensions = 0, expected;
  if ((frame.operation & TN_FRAME_REPLY) != 0) {
    tn_frame_result_t result;
    memcpy(&result, bytes + at, sizeof result);
    at += sizeof result;
    expected = result.dimensions;
    for (uint32_t i = 0; i < result.outputs; i++, at += 8) {
      uint32_t pair[2];
      memcpy(pair, bytes + at, sizeof pair);
      if (pair[0] > 1) return "a flag is not 0 or 1";
      dimensions += pair[1];
    }
  } else {
    tn_frame_execute_t execute;
    memcpy(&execute, bytes + at, sizeof execute);
    at += sizeof execute + (size_t)execute.pools * 8;
    expected = execute.dimensions;
    for (uint32_t i = 0; i < (uint32_t)execute.inputs + execute.outputs; i++) {
      tn_frame_argument_t argument;
      memcpy(&argument, bytes + at, sizeof argument);
      at += sizeof argument;
      if (argument.has_no_value > 1) return "a flag is not 0 or 1";
      dimensions += argument.rank;
    }
  }
  if (dimensions != expected) return "wrong ranks";
  return at + dimensions * 4 == size ? NULL : "wrong end";
}

#endif
