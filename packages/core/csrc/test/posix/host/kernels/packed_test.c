/* host/kernels/{packed_kernel,value_reader,value_writer,kept_values,packed_errors}.c. */
#include "packed_support.h"

/* Whether the answer is the bytes that the arguments have after their first byte. */
static bool is_echo(const tn_host_slot_t *answer) {
  return answer->status == TN_OK && answer->value == 0 && answer->length == message.used - 1 &&
         memcmp(body_zero(), message.bytes + 1, answer->length) == 0;
}

TEST(host_packed_values_of_every_kind_come_back_the_same) {
  const uint32_t echo = packed("echo");
  char text[3000];
  memset(text, 'y', sizeof text);
  CHECK(echo != 0);
#define ECHO(write)              \
  arguments(1);                  \
  write;                         \
  CHECK(is_echo(call(echo)))
  ECHO(tn__pack_nil(&message));
  ECHO(tn__pack_bool(&message, true));
  ECHO(tn__pack_int(&message, INT64_MIN));
  ECHO(tn__pack_int(&message, 7));
  ECHO(tn__pack_float(&message, -0.0));
  ECHO(tn__pack_str(&message, "short", 5));
  ECHO(tn__pack_str(&message, "", 0));
  ECHO(tn__pack_str(&message, text, sizeof text));
  ECHO(tn__pack_bin(&message, "a\0b", 3));
  ECHO(tn__pack_bin(&message, text, sizeof text));
  const int64_t sizes[3] = {2, 0, -1};
  ECHO(put_ext(TN__VALUE_SHAPE, sizes, sizeof sizes));
  ECHO(put_ext(TN__VALUE_SHAPE, sizes, 0));
  ECHO(put_ext(TN__VALUE_DTYPE, "\2\40\1\0", 4));
  ECHO(put_ext(TN__VALUE_DEVICE, "\1\0\0\0\3\0\0\0", 8));
  ECHO(tn__pack_array(&message, 0));
  ECHO(tn__pack_map(&message, 0));
  arguments(1);
  tn__pack_array(&message, 20);
  for (int i = 0; i < 18; i++) tn__pack_int(&message, i);
  tn__pack_array(&message, 1);
  tn__pack_nil(&message);
  tn__pack_map(&message, 2);
  tn__pack_str(&message, "one", 3);
  tn__pack_int(&message, 1);
  tn__pack_int(&message, 2);
  tn__pack_array(&message, 0);
  CHECK(is_echo(call(echo)));
  /* A tensor by value. */
  uint8_t copy[8 + 16 + 24] = {kDLFloat, 32, 1, 0, 2};
  const int64_t shape[2] = {2, 3};
  memcpy(copy + 8, shape, sizeof shape);
  memset(copy + 24, 0x3f, 24);
  ECHO(put_ext(TN__VALUE_COPY, copy, sizeof copy));
  release(echo);
}

TEST(host_packed_function_works_on_operands_and_returns_them) {
  const uint32_t memory = new_id(), faulty = packed("faulty"), echo = packed("echo");
  uint8_t *bytes = share(memory, 1 << 20, true);
  float *x = (float *)(void *)bytes, *y = (float *)(void *)(bytes + 4096);
  for (int i = 0; i < 16; i++) x[i] = (float)i;
  const tn_host_operand_t operands[2] = {READ(memory, 0, 64), WRITE(memory, 4096, 64)};
  for (int mode = 0; mode < 2; mode++) {
    guard(mode == 1);
    arguments(3);
    tn__pack_int(&message, 0);
    put_tensor(0, 16);
    put_tensor(1, 16);
    memset(y, 0, 64);
    const tn_host_slot_t *answer = call_with(faulty, operands, 2);
    CHECK(answer->status == TN_OK && answer->length == 1 && body_zero()[0] == 0xc0 && answer->native_time > 0);
    for (int i = 0; i < 16; i++) CHECK(y[i] == 2 * x[i]);
    arguments(1);
    put_tensor(1, 16);
    CHECK(is_echo(call_with(echo, operands, 2)));
    /* A part of an operand, from its first byte. */
    arguments(1);
    put_tensor(1, 3);
    CHECK(is_echo(call_with(echo, operands, 2)));
    arguments(1);
    put_tensor(1, 0);
    CHECK(call_with(echo, operands, 2)->status == TN_OK);
  }
  guard(false);
  release(faulty);
  release(echo);
  unshare(memory, bytes, 1 << 20);
}

TEST(host_packed_arguments_are_checked) {
  const uint32_t memory = new_id(), echo = packed("echo");
  uint8_t *bytes = share(memory, 4096, true);
  const tn_host_operand_t operand = READ(memory, 0, 64);
#define REFUSED(write, text)                                                                          \
  arguments(1);                                                                                       \
  write;                                                                                              \
  CHECK(is_refused(call_with(echo, &operand, 1), TN_INVALID_ARGUMENT, text))
  REFUSED((void)0, "before its last item");
  REFUSED(tn__pack_raw(&message, "\xc1", 1), "MessagePack");
  REFUSED(put_tensor(1, 16), "operand of its request");
  REFUSED(put_tensor(0, 17), "as many bytes as its operand");
  REFUSED(put_tensor(0, -1), "a type and sizes");
  REFUSED(put_tensor(0, INT64_MAX), "a type and sizes");
  REFUSED(put_ext(TN__VALUE_TENSOR, "1234567", 7), "an operand, a type");
  REFUSED(put_ext(TN__VALUE_TENSOR, "\0\0\0\0\2\0\1\0", 8), "a type and sizes");
  REFUSED(put_ext(TN__VALUE_SHAPE, "1234567", 7), "8 bytes for each");
  REFUSED(put_ext(TN__VALUE_DTYPE, "123", 3), "a data type 4");
  REFUSED(put_ext(TN__VALUE_DEVICE, "123", 3), "device must have 8");
  REFUSED(put_ext(TN__VALUE_FUNCTION, "123", 3), "must have an id");
  REFUSED(put_ext(TN__VALUE_PART, "12345678", 8), "must be known");
  REFUSED(put_ext(TN__VALUE_COPY, "1234", 4), "a type");
  REFUSED(put_ext(TN__VALUE_COPY, "\2\40\1\0\377\377\377\377", 8), "256 dimensions");
  REFUSED(put_ext(TN__VALUE_COPY, "\2\40\1\0\0\0\0\0", 8), "the bytes of its type");
  REFUSED(tn__pack_array(&message, UINT32_MAX), "before its last item");
  REFUSED(tn__pack_map(&message, UINT32_MAX), "before its last item");
  REFUSED(for (int i = 0; i < 200; i++) tn__pack_array(&message, 1), "nested too deeply");
  REFUSED(tn__pack_int(&message, 1); tn__pack_int(&message, 2), "followed by nothing");
  arguments(UINT32_MAX);
  CHECK(is_refused(call(echo), TN_INVALID_ARGUMENT, "before its last item"));
  CHECK(is_refused(run(echo, NULL, 0, "\1", 1), TN_INVALID_ARGUMENT, "must be an array"));
  CHECK(is_refused(run(echo, NULL, 0, NULL, 0), TN_INVALID_ARGUMENT, "must be an array"));
  release(echo);
  unshare(memory, bytes, 4096);
}

TEST(host_packed_arguments_of_random_bytes_are_refused_or_run) {
  const uint32_t memory = new_id(), echo = packed("echo");
  uint8_t *bytes = share(memory, 4096, true);
  const tn_host_operand_t operand = READ(memory, 0, 64);
  uint64_t random = 88172645463325252u;
  for (int round = 0; round < 20000; round++) {
    uint8_t body[48] = {0x91};
    for (size_t i = 1; i < sizeof body; i++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      /* More codes of containers and extensions than chance would give. */
      body[i] = (uint8_t)(random % 3 == 0 ? 0xc0 + (random >> 8) % 32 : random % 3 == 1 ? (random >> 8) % 10 : random >> 8);
    }
    const tn_host_slot_t *answer = run(echo, &operand, 1, body, 1 + (random >> 40) % 47);
    CHECK(answer->length <= TN_HOST_BODY_SIZE);
    if (answer->value != 0) ask(TN_HOST_RELEASE_VALUE, answer->value, NULL, 0);
  }
  release(echo);
  unshare(memory, bytes, 4096);
}

/* Fetches a part of a kept value to the start of a memory. */
static const tn_host_slot_t *fetch(uint32_t value, uint32_t part, uint32_t memory, uint64_t size) {
  const tn_host_operand_t operand = WRITE(memory, 0, size);
  return serve((tn_host_slot_t){.operation = TN_HOST_FETCH, .target = value, .operands = 1}, &part, sizeof part, &operand);
}

TEST(host_packed_tensors_come_as_copies_or_are_kept_and_fetched) {
  const uint32_t memory = new_id(), range = packed("range"), columns = packed("columns");
  uint8_t *bytes = share(memory, 1 << 20, true);
  tn__pack_int(arguments(1), 3);
  const tn_host_slot_t *answer = call(range);
  CHECK(answer->status == TN_OK && answer->value == 0 && answer->length == 6 + 16 + 12);
  CHECK(body_zero()[0] == 0xc9 && body_zero()[5] == TN__VALUE_COPY);
  CHECK(((const float *)(const void *)memcpy(bytes, body_zero() + 22, 12))[2] == 2.0f);
  tn__pack_int(arguments(1), 0);
  CHECK(call(range)->value == 0);
  tn__pack_int(arguments(1), 100000);
  for (int mode = 0; mode < 2; mode++) {
    guard(mode == 1);
    answer = call(range);
    const uint32_t value = answer->value;
    CHECK(answer->status == TN_OK && value != 0 && answer->flags == 0 && answer->length == 22);
    const uint8_t expected[10] = {0xc9, 0, 0, 0, 16, TN__VALUE_PART, 1, 0, 0, 0};
    CHECK(memcmp(body_zero(), expected, sizeof expected) == 0);
    CHECK(fetch(value, 1, memory, 400000)->status == TN_OK);
    for (int i = 0; i < 100000; i++) CHECK(((const float *)(const void *)bytes)[i] == (float)i);
    CHECK(is_refused(fetch(value, 1, memory, 399999), TN_INVALID_ARGUMENT, "400000 bytes"));
    CHECK(is_refused(fetch(value, 2, memory, 400000), TN_INVALID_ARGUMENT, "one of the 2 parts"));
    CHECK(is_refused(fetch(value, UINT32_MAX, memory, 0), TN_INVALID_ARGUMENT, "one of the 2 parts"));
    CHECK(ask(TN_HOST_RELEASE_VALUE, value, NULL, 0)->status == TN_OK);
    CHECK(is_refused(fetch(value, 1, memory, 400000), TN_NOT_FOUND, "no kept value"));
    CHECK(is_refused(ask(TN_HOST_RELEASE_VALUE, value, NULL, 0), TN_NOT_FOUND, "no kept value"));
  }
  guard(false);
  arguments(0);
  answer = call(columns);
  CHECK(answer->status == TN_OK && answer->value == 0);
  const float *matrix = memcpy(bytes, body_zero() + 6 + 24, 24);
  for (int i = 0; i < 6; i++) CHECK(matrix[i] == (float)i);
  release(range);
  release(columns);
  unshare(memory, bytes, 1 << 20);
}

TEST(host_packed_results_longer_than_a_body_are_fetched) {
  const uint32_t memory = new_id(), text = packed("text"), echo = packed("echo");
  uint8_t *bytes = share(memory, 1 << 20, true);
  tn__pack_int(arguments(1), 100000);
  const tn_host_slot_t *answer = call(text);
  const uint32_t value = answer->value;
  uint64_t size;
  memcpy(&size, body_zero(), sizeof size);
  CHECK(answer->status == TN_OK && value != 0 && answer->flags == TN_HOST_LONG_BODY && answer->length == 8);
  CHECK(size == 100005 && fetch(value, 0, memory, size)->status == TN_OK);
  CHECK(bytes[0] == 0xdb && bytes[5] == 'x' && bytes[100004] == 'x');
  CHECK(ask(TN_HOST_RELEASE_VALUE, value, NULL, 0)->status == TN_OK);
  /* Long arguments lie in memory, and come back as a long result with a part. */
  arguments(1);
  tn__pack_array(&message, 2);
  tn__pack_bin(&message, bytes, 50000);
  const size_t first = message.used;
  uint8_t head[16] = {kDLFloat, 32, 1, 0, 1};
  const int64_t count = 5000;
  memcpy(head + 8, &count, 8);
  tn__pack_ext(&message, TN__VALUE_COPY, 16 + 20000);
  tn__pack_raw(&message, head, 16);
  tn__pack_raw(&message, bytes, 20000);
  memcpy(bytes + 200000, message.bytes, message.used);
  const tn_host_operand_t body = READ(memory, 200000, message.used);
  memcpy(slot_zero() + 1, &body, sizeof body);
  answer = serve((tn_host_slot_t){.operation = TN_HOST_RUN, .target = echo, .flags = TN_HOST_LONG_BODY,
                                  .length = (uint32_t)message.used}, NULL, 0, NULL);
  CHECK(answer->status == TN_OK && answer->value != 0 && answer->flags == TN_HOST_LONG_BODY);
  const uint32_t long_value = answer->value;
  memcpy(&size, body_zero(), sizeof size);
  CHECK(size == first - 1 + 22 && fetch(long_value, 0, memory, size)->status == TN_OK);
  CHECK(memcmp(bytes, message.bytes + 1, first - 1) == 0 && bytes[size - 17] == TN__VALUE_PART);
  CHECK(fetch(long_value, 1, memory, 20000)->status == TN_OK);
  CHECK(memcmp(bytes, message.bytes + message.used - 20000, 20000) == 0);
  CHECK(ask(TN_HOST_RELEASE_VALUE, long_value, NULL, 0)->status == TN_OK);
  release(text);
  release(echo);
  unshare(memory, bytes, 1 << 20);
}

TEST(host_packed_errors_have_kind_message_traceback_and_causes) {
  const uint32_t fail = packed("fail"), pointer = packed("pointer"), faulty = packed("faulty");
  arguments(0);
  const tn_host_slot_t *answer = call(fail);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && answer->status == TN_KERNEL_FAILED && body_zero()[0] == 0x95);
  CHECK(body_has(answer, "\xaaValueError\xb1" "failed on purpose") && body_has(answer, "values.c\", line 1, in fail"));
  CHECK(body_has(answer, "\x91\x94\xa8KeyError\xaathe reason"));
  answer = call(pointer);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && body_has(answer, "\xa9TypeError") && body_has(answer, "void*"));
  answer = call(faulty);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && body_has(answer, "\xa9TypeError") && body_zero()[answer->length - 1] == 0xc0);
  /* A C++ exception. */
  const uint32_t memory = new_id();
  uint8_t *bytes = share(memory, 4096, true);
  arguments(3);
  tn__pack_int(&message, 23);
  put_tensor(0, 16);
  put_tensor(0, 16);
  const tn_host_operand_t operand = WRITE(memory, 0, 64);
  answer = call_with(faulty, &operand, 1);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && body_has(answer, "InternalError"));
  CHECK(body_has(answer, "the function threw a C++ exception: thrown on purpose (std::runtime_error)"));
  unshare(memory, bytes, 4096);
  release(fail);
  release(pointer);
  release(faulty);
}

TEST(host_packed_functions_that_do_not_exist_are_refused) {
  CHECK(packed("missing") == 0 && is_refused(slot_zero(), TN_NOT_FOUND, "does not have the packed function missing"));
  CHECK(packed("") == 0 && is_refused(slot_zero(), TN_INVALID_ARGUMENT, "must have a name"));
  /* A global function. */
  const uint32_t made = packed("ffi.Array");
  CHECK(made != 0);
  tn__pack_int(arguments(1), 5);
  CHECK(call(made)->status == TN_OK && memcmp(body_zero(), "\x91\5", 2) == 0);
  release(made);
}

TEST(host_packed_functions_of_the_legacy_convention_run_and_fail) {
  const uint32_t library = load("faulty_legacy"), memory = new_id();
  const uint32_t doubled =
      make_kernel(&(kernel_t){.library = library, .convention = TN_HOST_LEGACY, .symbols = {NULL, NULL, NULL, "doubled"}});
  uint8_t *bytes = share(memory, 8192, true);
  const float *y = (const float *)(const void *)(bytes + 4096);
  for (int i = 0; i < 16; i++) ((float *)(void *)bytes)[i] = (float)i;
  const tn_host_operand_t operands[2] = {READ(memory, 0, 64), WRITE(memory, 4096, 64)};
  CHECK(doubled != 0);
  arguments(2);
  put_tensor(0, 16);
  put_tensor(1, 16);
  const tn_host_slot_t *answer = call_with(doubled, operands, 2);
  CHECK(answer->status == TN_OK && answer->length == 1 && body_zero()[0] == 16);
  for (int i = 0; i < 16; i++) CHECK(y[i] == (float)(2 * i));
  arguments(0);
  answer = call(doubled);
  CHECK(answer->error == TN_HOST_PACKED_ERROR && body_has(answer, "\x95\xa9TypeError\xb5" "doubled takes x and y"));
  release(doubled);
  unshare(memory, bytes, 8192);
}
