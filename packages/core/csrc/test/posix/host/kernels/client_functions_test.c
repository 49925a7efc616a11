/* host/kernels/client_functions.c. */
#include "packed_support.h"

static uint8_t seen[TN_HOST_BODY_SIZE];
static size_t seen_length;
static const char *reply;
static size_t reply_length;
static int calls;

static void answer_call(tn_host_slot_t *slot, uint8_t *body) {
  calls++;
  seen_length = slot->length;
  memcpy(seen, body, slot->length);
  memcpy(body, reply, reply_length);
  slot->length = (uint32_t)reply_length;
}

static void reply_with(const char *bytes, size_t length) {
  called_back = answer_call;
  reply = bytes;
  reply_length = length;
}

TEST(host_packed_functions_call_the_client_on_any_thread) {
  const uint32_t direct = packed("call"), threaded = packed("call_on_thread");
  const uint32_t kernels[2] = {direct, threaded};
  reply_with("\x92\0\xa5reply", 8);
  for (int i = 0; i < 2; i++) {
    arguments(3);
    put_function(77);
    tn__pack_int(&message, 5);
    tn__pack_str(&message, "text", 4);
    calls = 0;
    const tn_host_slot_t *answer = call(kernels[i]);
    CHECK(answer->status == TN_OK && answer->length == 6 && memcmp(body_zero(), "\xa5reply", 6) == 0);
    CHECK(calls == 1 && seen_length == 9 && memcmp(seen, "\x92\x4d\x92\5\xa4text", 9) == 0);
  }
  /* A tensor of an operand goes as such, any other one as a copy. */
  const uint32_t memory = new_id();
  uint8_t *bytes = share(memory, 4096, true);
  const tn_host_operand_t operand = WRITE(memory, 64, 64);
  arguments(2);
  put_function(1);
  put_tensor(0, 16);
  CHECK(call_with(direct, &operand, 1)->status == TN_OK);
  CHECK(seen_length == 3 + 22 && seen[3 + 5] == TN__VALUE_TENSOR);
  unshare(memory, bytes, 4096);
  release(direct);
  release(threaded);
}

TEST(host_packed_functions_get_the_errors_of_the_client_back) {
  const uint32_t direct = packed("call");
  put_function((arguments(1), 3));
  reply_with("\x95\1\xa8KeyError\xa7missing\xa0\x2a", 21);
  const tn_host_slot_t *answer = call(direct);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && answer->flags == 0 && answer->value == 0);
  CHECK(body_has(answer, "\x95\xa8KeyError\xa7missing") && body_zero()[answer->length - 1] == 42);
  reply_with("\x95\1\xa8KeyError\xa7missing\xa0\xc0", 21);
  answer = call(direct);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && body_zero()[answer->length - 1] == 0xc0);
  const struct {
    const char *bytes;
    size_t length;
  } malformed[] = {{"", 0}, {"\1", 1}, {"\x92\2\0", 3}, {"\x92\0", 2}, {"\x95\1\xa1", 3}, {"\x93\0\0\0", 4}, {"\x92\0\xc7\1\1\0", 6}};
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
    reply_with(malformed[i].bytes, malformed[i].length);
    answer = call(direct);
    CHECK(answer->error == TN_HOST_PACKED_ERROR && body_has(answer, "RuntimeError"));
  }
  called_back = NULL;
  answer = call(direct);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && body_has(answer, "could not be called"));
  release(direct);
}

static void claim_too_much(tn_host_slot_t *slot, uint8_t *body) {
  (void)body;
  slot->length = UINT32_MAX;
}

TEST(host_packed_functions_survive_hostile_answers_of_the_client) {
  const uint32_t direct = packed("call");
  put_function((arguments(1), 3));
  called_back = claim_too_much;
  CHECK(body_has(call(direct), "malformed"));
  /* Arguments that do not fit into a body. */
  const uint32_t memory = new_id();
  uint8_t *bytes = share(memory, 1 << 16, true);
  arguments(2);
  put_function(3);
  tn__pack_bin(&message, bytes, 20000);
  memcpy(bytes, message.bytes, message.used);
  const tn_host_operand_t body = READ(memory, 0, message.used);
  memcpy(slot_zero() + 1, &body, sizeof body);
  reply_with("\x92\0\0", 3);
  calls = 0;
  serve((tn_host_slot_t){.operation = TN_HOST_RUN, .target = direct, .flags = TN_HOST_LONG_BODY,
                         .length = (uint32_t)message.used}, NULL, 0, NULL);
  CHECK(body_has(slot_zero(), "must fit into 16384 bytes") && calls == 0);
  unshare(memory, bytes, 1 << 16);
  release(direct);
}

TEST(host_packed_functions_of_the_client_end_with_their_call) {
  const uint32_t keep = packed("keep"), call_kept = packed("call_kept");
  put_function((arguments(1), 3));
  CHECK(call(keep)->status == TN_OK);
  reply_with("\x92\0\0", 3);
  calls = 0;
  arguments(0);
  CHECK(body_has(call(call_kept), "only be called during the call that it was passed to") && calls == 0);
  release(keep);
  release(call_kept);
}
