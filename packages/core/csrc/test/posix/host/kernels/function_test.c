/* host/kernels/function_kernel.c, with the functions of libcore_fixture. */
#include "support.h"
#include "tenon_call.h"

/* The body of a request, from its head on. */
typedef struct {
  tn_host_call_t call;
  tn_host_pointer_t pointers[2];
  uint64_t integers[8];
  double vectors[8];
  uint8_t rest[64];
} body_t;

#define WORD(member) ((uint32_t)offsetof(tn_call_frame_t, member) / 4)

/* The bytes of a body with two pointers and no stack. */
#define SIZE offsetof(body_t, rest)

static uint32_t function(const char *name) {
  static uint32_t library;
  if (library == 0) library = load("core_fixture");
  return make_kernel(&(kernel_t){.library = library, .convention = TN_HOST_FUNCTION, .symbols = {[3] = name}});
}

/* fixture_sum(1.5, 2, c, d, 3), whose pointers are the operands. */
static body_t sum_call(void) {
  return (body_t){.call = {.flags = TN_CALL_VECTORS, .extra = 1, .pointers = 2},
                  .pointers = {{WORD(integers) + 2, 0}, {WORD(integers) + 4, 1}},
                  .integers = {2, 0, 0, 3},
                  .vectors = {1.5}};
}

static const tn_host_returned_t *returned(const tn_host_slot_t *answer) {
  return answer->status == TN_OK && answer->length == sizeof(tn_host_returned_t)
             ? (const tn_host_returned_t *)(const void *)body_zero()
             : NULL;
}

TEST(host_function_gets_registers_and_the_addresses_of_operands) {
  const uint32_t id = new_id(), sum = function("fixture_sum");
  uint8_t *bytes = share(id, 4096, true);
  const float c = 10;
  const int64_t d = 100;
  memcpy(bytes, &c, sizeof c);
  memcpy(bytes + 64, &d, sizeof d);
  const tn_host_operand_t operands[2] = {READ(id, 0, 4), READ(id, 64, 8)};
  const body_t body = sum_call();
  for (int i = 0; i < 4; i++) {
    guard(i % 2 == 1);
    const tn_host_returned_t *answer = returned(run(sum, operands, 2, &body, SIZE));
    CHECK(answer != NULL && answer->text_length == TN_HOST_NO_TEXT);
    double value = 0;
    if (answer != NULL) memcpy(&value, answer->vector_results, sizeof value);
    CHECK(value == 116.5);
  }
  guard(false);
  ask(TN_HOST_RELEASE_KERNEL, sum, NULL, 0);
  unshare(id, bytes, 4096);
}

TEST(host_function_gives_the_text_that_it_returns) {
  const uint32_t id = new_id(), pointer = function("fixture_pointer");
  enum { LONG = 40000 };
  uint8_t *bytes = share(id, 65536, true);
  memset(bytes, 'x', LONG);
  body_t body = {.call = {.pointers = 1, .text_limit = 5}, .pointers = {{WORD(integers), 0}}};
  memmove(&body.pointers[1], body.integers, sizeof body.integers + sizeof body.vectors);
  const size_t size = SIZE - sizeof body.pointers[1];
  const tn_host_operand_t operand = READ(id, 0, 65536);
  CHECK(is_refused(run(pointer, &operand, 1, &body, size), TN_INVALID_ARGUMENT, "at most 5 bytes"));
  memcpy(bytes, "text", 5);
  const tn_host_slot_t *answer = run(pointer, &operand, 1, &body, size);
  CHECK(answer->status == TN_OK && answer->length == sizeof(tn_host_returned_t) + 4 && body_has(answer, "text"));
  memset(bytes, 'x', 5);
  body.call.text_limit = LONG;
  answer = run(pointer, &operand, 1, &body, size);
  uint64_t length = 0;
  memcpy(&length, body_zero(), sizeof length);
  CHECK(answer->status == TN_OK && answer->flags == TN_HOST_LONG_BODY && answer->value != 0 && length == sizeof(tn_host_returned_t) + LONG);
  CHECK(ask(TN_HOST_RELEASE_VALUE, answer->value, NULL, 0)->status == TN_OK);
  const tn_host_operand_t none = {.flags = TN_HOST_NULL};
  CHECK(returned(run(pointer, &none, 1, &body, size))->text_length == TN_HOST_NO_TEXT);
  ask(TN_HOST_RELEASE_KERNEL, pointer, NULL, 0);
  unshare(id, bytes, 65536);
}

TEST(host_function_refuses_bodies_that_do_not_fit) {
  const uint32_t id = new_id(), sum = function("fixture_sum");
  uint8_t *bytes = share(id, 4096, true);
  const tn_host_operand_t operands[2] = {READ(id, 0, 4), READ(id, 64, 8)};
  const body_t good = sum_call();
#define REFUSED(change, size, text)                                                                     \
  do {                                                                                                  \
    body_t body = good;                                                                                 \
    change; \
    CHECK(is_refused(run(sum, operands, 2, &body, (size)), TN_INVALID_ARGUMENT, text));                 \
  } while (0)
  REFUSED((void)0, SIZE - 1, "a call must have");
  REFUSED((void)0, SIZE + 1, "a call must have");
  REFUSED((void)0, sizeof(tn_host_call_t) - 1, "a call must have at least");
  REFUSED(body.call.flags = 8, SIZE, "the flags of a call must be known");
  REFUSED(body.call.stack_size = 8, SIZE + 8, "must fit into a frame");
  REFUSED(body.call.stack_size = TN_CALL_STACK_SIZE + 16, SIZE, "must fit into a frame");
  REFUSED(body.call.stack_size = UINT32_MAX - 15, SIZE, "must fit into a frame");
  REFUSED(body.call.copies_size = 8, SIZE + 8, "must fit into a frame");
  REFUSED(body.call.flags |= TN_CALL_COPIES, SIZE, "must fit into a frame");
  REFUSED(body.call.pointers = 3, SIZE, "must be that of an operand");
  REFUSED(body.call.text_limit = UINT32_MAX, SIZE, "must be that of an operand");
  REFUSED(body.pointers[1].operand = 2, SIZE, "must be an argument");
  REFUSED(body.pointers[1].word++, SIZE, "must be an argument");
  REFUSED(body.pointers[1].word = WORD(results), SIZE, "must be an argument");
  REFUSED(body.pointers[1].word = WORD(stack), SIZE, "must be an argument");
  REFUSED(body.pointers[1].word = UINT32_MAX - 1, SIZE, "must be an argument");
  REFUSED((body.call.flags |= TN_CALL_COPIES, body.call.copies_size = 8, memcpy(body.rest, "\xff\xff\xff\xff\0\0\0\0", 8)), SIZE + 8,
          "must fit into its frame");
  const tn_call_copy_t copies[] = {
      {WORD(integers) + 1, 16, 16, 0}, {WORD(results), 16, 16, 0},   {WORD(integers), 0, 16, 0},
      {WORD(integers), 16, 32, 0},     {WORD(integers), 16, 16, 16}, {WORD(integers), UINT32_MAX, 16, 0},
      {WORD(stack), 16, 16, 0},        {WORD(integers), 16, 16, UINT32_MAX},
  };
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
    const uint32_t head[2] = {1, 16};
    REFUSED((body.call.flags |= TN_CALL_COPIES, body.call.copies_size = 24, memcpy(body.rest, head, 8),
             memcpy(body.rest + 8, &copies[i], sizeof copies[i])),
            SIZE + 24, "struct 0 of a call must lie in its frame");
  }
  CHECK(returned(run(sum, operands, 2, &good, SIZE)) != NULL);
  CHECK(function("fixture_missing") == 0);
  ask(TN_HOST_RELEASE_KERNEL, sum, NULL, 0);
  unshare(id, bytes, 4096);
}
