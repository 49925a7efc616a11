/* frame.c: messages that nobody should trust. An accepted message must be one that a reader can walk to its exact end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "an accepted message is wrong: %s\n", what);
  abort();
}

/* Walks the message as its readers do; every byte is looked at, so that the sanitizer sees what lies outside. */
static void walk(const uint8_t *bytes, size_t size) {
  tn_frame_t frame;
  memcpy(&frame, bytes, sizeof frame);
  require(frame.length == size, "its length");
  if ((frame.operation & ~TN_FRAME_REPLY) != TN_FRAME_EXECUTE || frame.status != 0) return;
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
      require(pair[0] <= 1, "a flag");
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
      require(argument.has_no_value <= 1, "a flag");
      dimensions += argument.rank;
    }
  }
  require(dimensions == expected, "its ranks");
  require(at + dimensions * 4 == size, "its end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* An exact copy, so that one byte too far is seen. */
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) return 0;
  if (size > 0) memcpy(copy, data, size);
  for (size_t descriptors = 0; descriptors < 2; descriptors++) {
    if (tn_frame_check(copy, size, descriptors) == TN_OK) walk(copy, size);
  }
  free(copy);
  return 0;
}
