/* The layout of messages between a framework and a driver. The check reads each number of a message once. */
#include <string.h>

#include "base/status.h"
#include "tenon_pools.h"

#define MALFORMED(what) return tn__fail(TN_INVALID_ARGUMENT, "malformed message: %s", what)

/* All platforms of the core are little-endian. */
static uint32_t u32_at(const uint8_t *bytes, size_t offset) {
  uint32_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}

/* Returns whether the numbers at `at`, `stride` bytes apart, add up to `expected`. */
static int ranks_add_up(const uint8_t *bytes, size_t at, size_t stride, uint64_t count, uint32_t expected) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) sum += u32_at(bytes, at + (size_t)i * stride);
  return sum == expected;
}

/* Returns whether the same numbers are all 0 or 1. */
static int are_flags(const uint8_t *bytes, size_t at, size_t stride, uint64_t count) {
  uint32_t bits = 0;
  for (uint64_t i = 0; i < count; i++) bits |= u32_at(bytes, at + (size_t)i * stride);
  return bits <= 1;
}

static int32_t check_execute(const uint8_t *body, size_t length) {
  tn_frame_execute_t execute;
  if (length < sizeof execute) MALFORMED("a request to execute is truncated");
  memcpy(&execute, body, sizeof execute);
  uint64_t arguments = (uint64_t)execute.inputs + execute.outputs;
  uint64_t pools_size = (uint64_t)execute.pools * 8;
  uint64_t expected =
      sizeof execute + pools_size + arguments * sizeof(tn_frame_argument_t) + (uint64_t)execute.dimensions * 4;
  if (execute.reserved != 0 || expected != length)
    MALFORMED("the counts of a request to execute do not match its length");
  if (!are_flags(body, sizeof execute, 8, execute.pools)) MALFORMED("the kind of a pool must be 0 or 1");
  size_t first = sizeof execute + (size_t)pools_size;
  if (!are_flags(body, first, sizeof(tn_frame_argument_t), arguments))
    MALFORMED("the first field of an argument must be 0 or 1");
  if (!ranks_add_up(body, first + offsetof(tn_frame_argument_t, rank), sizeof(tn_frame_argument_t), arguments,
                    execute.dimensions))
    MALFORMED("the ranks of a request to execute do not add up");
  return TN_OK;
}

static int32_t check_result(const uint8_t *body, size_t length) {
  tn_frame_result_t result;
  if (length < sizeof result) MALFORMED("the result of an execution is truncated");
  memcpy(&result, body, sizeof result);
  if (sizeof result + (uint64_t)result.outputs * 8 + (uint64_t)result.dimensions * 4 != length)
    MALFORMED("the counts of a result do not match its length");
  if (!are_flags(body, sizeof result, 8, result.outputs)) MALFORMED("the first field of an output must be 0 or 1");
  if (!ranks_add_up(body, sizeof result + 4, 8, result.outputs, result.dimensions))
    MALFORMED("the ranks of a result do not add up");
  return TN_OK;
}

int32_t tn_frame_check(const void *bytes, size_t length, size_t descriptors) {
  tn_frame_t header;
  if (length < sizeof header || length > TN_FRAME_MAXIMUM) MALFORMED("wrong size");
  memcpy(&header, bytes, sizeof header);
  uint16_t operation = header.operation & (uint16_t)~TN_FRAME_REPLY;
  int is_reply = (header.operation & TN_FRAME_REPLY) != 0;
  if (header.magic != TN_FRAME_MAGIC || header.version != TN_FRAME_VERSION) MALFORMED("wrong magic number or version");
  if (operation == 0 || operation > TN_FRAME_OPERATIONS) MALFORMED("unknown operation");
  if (header.length != length) MALFORMED("wrong length");
  if (header.descriptors != descriptors || descriptors > TN_FRAME_DESCRIPTORS) MALFORMED("wrong number of descriptors");
  if ((header.flags & ~TN_FRAME_RING) != 0 || header.priority > (is_reply ? 0 : 2))
    MALFORMED("unknown flags or priority");
  if (!is_reply && header.status != 0) MALFORMED("a request with a status");
  /* The body of a failure has no fixed layout. */
  if (operation != TN_FRAME_EXECUTE || header.status != 0) return TN_OK;
  const uint8_t *body = (const uint8_t *)bytes + sizeof header;
  return is_reply ? check_result(body, length - sizeof header) : check_execute(body, length - sizeof header);
}
