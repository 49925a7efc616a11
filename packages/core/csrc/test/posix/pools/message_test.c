/* message.c: messages with random changes. A reader can walk every accepted message to its exact end. */
#if defined(__linux__)
#include <stdlib.h>

#include "check.h"
#include "fuzz/pools/message_walk.h"
#include "posix/guard_page.h"

/* A request to execute: two pools, an input of rank 2, an output of rank 1. */
typedef struct {
  tn_frame_t frame;
  tn_frame_execute_t execute;
  uint32_t pools[4];
  tn_frame_argument_t arguments[2];
  uint32_t dimensions[3];
} request_t;

typedef struct {
  tn_frame_t frame;
  tn_frame_result_t result;
  uint32_t output[2];
  uint32_t dimensions[1];
} answer_t;

static tn_frame_t header(uint32_t operation, size_t length) {
  return (tn_frame_t){.magic = TN_FRAME_MAGIC,
                      .version = TN_FRAME_VERSION,
                      .operation = (uint16_t)operation,
                      .length = (uint32_t)length,
                      .id = 1};
}

static size_t make_request(uint8_t *bytes) {
  request_t request;
  memset(&request, 0, sizeof request);
  const size_t length = offsetof(request_t, dimensions) + sizeof request.dimensions;
  request.frame = header(TN_FRAME_EXECUTE, length);
  request.execute = (tn_frame_execute_t){.model = 1, .inputs = 1, .outputs = 1, .pools = 2, .dimensions = 3};
  request.arguments[0].rank = 2;
  request.arguments[1].rank = 1;
  memcpy(bytes, &request, length);
  return length;
}

static size_t make_answer(uint8_t *bytes) {
  answer_t answer;
  memset(&answer, 0, sizeof answer);
  const size_t length = offsetof(answer_t, dimensions) + sizeof answer.dimensions;
  answer.frame = header(TN_FRAME_EXECUTE | TN_FRAME_REPLY, length);
  answer.result.outputs = 1;
  answer.result.dimensions = 1;
  answer.output[1] = 1;
  memcpy(bytes, &answer, length);
  return length;
}

TEST(messages_with_random_changes_are_refused_or_can_be_walked) {
  uint64_t state = 1;
  uint32_t accepted = 0;
  for (int round = 0; round < 200000; round++) {
    uint8_t bytes[256];
    size_t length = round % 2 == 0 ? make_request(bytes) : make_answer(bytes);
    for (int change = round / 2 % 4; change > 0; change--) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[(state >> 33) % length] ^= (uint8_t)(1u << (state >> 61));
    }
    if (round % 7 == 6) length -= 1 + (state >> 40) % 8;
    /* A block of the exact size, so that the sanitizer finds an access after the end. */
    uint8_t *copy = malloc(length);
    CHECK(copy != NULL);
    memcpy(copy, bytes, length);
    const char *fault = NULL;
    if (tn_frame_check(copy, length, 0) == TN_OK) {
      accepted++;
      fault = frame_fault(copy, length);
    }
    free(copy);
    CHECK(fault == NULL);
  }
  /* At least the messages without a change are accepted, but not all others. */
  CHECK(accepted > 200000 / 5 && accepted < 200000);
}

/* The reason for which a message of a length is refused. The header says `stated` bytes. */
static const char *reason_at(size_t length, size_t stated, size_t body, int is_reply) {
  if (length < sizeof(tn_frame_t)) return "malformed message: wrong size";
  if (length != stated) return "malformed message: wrong length";
  if (length < sizeof(tn_frame_t) + body)
    return is_reply ? "malformed message: the result of an execution is truncated"
                    : "malformed message: a request to execute is truncated";
  return is_reply ? "malformed message: the counts of a result do not match its length"
                  : "malformed message: the counts of a request to execute do not match its length";
}

TEST(messages_of_every_length_are_refused_with_their_reason_and_not_read_beyond) {
  guard_page_t guard;
  CHECK(guard_page_open(&guard, TN_FRAME_MAXIMUM));
  for (int is_reply = 0; is_reply < 2; is_reply++) {
    uint8_t bytes[256];
    const size_t whole = is_reply ? make_answer(bytes) : make_request(bytes);
    const size_t body = is_reply ? sizeof(tn_frame_result_t) : sizeof(tn_frame_execute_t);
    CHECK(tn_frame_check(guard_page_copy(&guard, bytes, whole), whole, 0) == TN_OK);
    for (size_t length = 0; length < whole; length++) {
      /* The header says the whole length, and then that of the truncated message. */
      for (int is_corrected = 0; is_corrected < 2; is_corrected++) {
        const uint32_t stated = (uint32_t)(is_corrected ? length : whole);
        memcpy(bytes + offsetof(tn_frame_t, length), &stated, sizeof stated);
        CHECK(tn_frame_check(guard_page_copy(&guard, bytes, length), length, 0) == TN_INVALID_ARGUMENT);
        CHECK(strcmp(tn_last_error(), reason_at(length, stated, body, is_reply)) == 0);
      }
    }
  }
  guard_page_close(&guard);
}

TEST(counts_that_a_message_does_not_have_are_refused_and_not_followed) {
  guard_page_t guard;
  CHECK(guard_page_open(&guard, 256));
  uint8_t bytes[256];
  const size_t length = make_request(bytes);
  static const size_t fields[] = {offsetof(tn_frame_execute_t, inputs), offsetof(tn_frame_execute_t, outputs),
                                  offsetof(tn_frame_execute_t, pools)};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    for (uint32_t count = 3; count <= UINT16_MAX; count = count * 2 + 1) {
      request_t *request = guard_page_copy(&guard, bytes, length);
      memcpy((uint8_t *)request + sizeof(tn_frame_t) + fields[i], &count, sizeof(uint16_t));
      CHECK(tn_frame_check(request, length, 0) == TN_INVALID_ARGUMENT);
      CHECK(strcmp(tn_last_error(), reason_at(length, length, sizeof(tn_frame_execute_t), 0)) == 0);
    }
  }
  guard_page_close(&guard);
}
#endif
