/* host/kernels/{libraries,kernels,typed_kernel,untyped_kernel}.c, with the kernels of libfaulty. */
#include "fixture/faulty/faults.h"
#include "support.h"

enum { COUNT = 16, BYTES = COUNT * sizeof(float) };

/* A memory with an operand x and a result y of COUNT elements, and a fault. */
typedef struct {
  uint32_t id;
  uint8_t *bytes;
  float *x, *y;
  int32_t *fault;
} fixture_t;

static fixture_t open_fixture(void) {
  fixture_t f = {.id = new_id()};
  f.bytes = share(f.id, 4096, true);
  f.x = (float *)(void *)f.bytes;
  f.y = (float *)(void *)(f.bytes + 1024);
  f.fault = (int32_t *)(void *)(f.bytes + 2048);
  for (int i = 0; i < COUNT; i++) f.x[i] = (float)i;
  return f;
}

static void close_fixture(const fixture_t *f) { unshare(f->id, f->bytes, 4096); }

static bool is_doubled(const fixture_t *f) {
  for (int i = 0; i < COUNT; i++)
    if (f->y[i] != 2 * f->x[i]) return false;
  return true;
}

static uint32_t library(void) {
  static uint32_t id;
  if (id == 0) id = load("faulty");
  return id;
}

/* The descriptor of faulty(x, fault) -> y, whose handlers the worker fills in. */
static descriptor_t descriptor_of(uint32_t minor, int32_t fault) {
  descriptor_t d;
  const int64_t count = COUNT;
  put_header(&d, minor, 1, 1, 1, (tn_xla_bundle_v1_t){NULL, NULL, NULL, NULL});
  put_buffer(&d, TN_XLA_F32, 1, &count);
  put_buffer(&d, TN_XLA_F32, 1, &count);
  put_scalar(&d, "fault", TN_XLA_S32, &fault);
  return d;
}

static uint32_t typed(uint32_t minor, int32_t fault) {
  const descriptor_t d = descriptor_of(minor, fault);
  return make_kernel(&(kernel_t){library(), TN_HOST_XLA, 1, 1, {NULL, NULL, NULL, "faulty"}, d.bytes, d.size});
}

static const tn_host_slot_t *run_typed(const fixture_t *f, uint32_t kernel) {
  const tn_host_operand_t operands[2] = {READ(f->id, 0, BYTES), WRITE(f->id, 1024, BYTES)};
  return run(kernel, operands, 2, NULL, 0);
}

static void release(uint32_t kernel) { ask(TN_HOST_RELEASE_KERNEL, kernel, NULL, 0); }

TEST(host_typed_kernel_runs_again_and_again_in_both_modes) {
  const fixture_t f = open_fixture();
  for (uint32_t minor = 0; minor <= 1; minor++) {
    const uint32_t kernel = typed(minor, FAULT_NONE);
    CHECK(kernel != 0);
    for (int i = 0; i < 6; i++) {
      guard(i % 2 == 1);
      memset(f.y, 0, BYTES);
      const tn_host_slot_t *answer = run_typed(&f, kernel);
      CHECK(answer->status == TN_OK && answer->error == 0 && answer->length == 0 && answer->native_time > 0);
      CHECK(is_doubled(&f));
    }
    release(kernel);
    CHECK(is_refused(run_typed(&f, kernel), TN_NOT_FOUND, "no kernel"));
  }
  guard(false);
  close_fixture(&f);
}

TEST(host_typed_kernel_answers_with_the_error_of_its_handler) {
  const fixture_t f = open_fixture();
  const uint32_t failing = typed(0, FAULT_ERROR), throwing = typed(0, FAULT_THROW);
  for (int i = 0; i < 2; i++) {
    const tn_host_slot_t *answer = run_typed(&f, failing);
    CHECK(answer->error == TN_HOST_XLA_ERROR && answer->status == TN_KERNEL_FAILED);
    CHECK(answer->code == TN_XLA_FAILED_PRECONDITION && answer->value == TN_XLA_EXECUTE);
    CHECK(answer->length == 17 && body_has(answer, "failed on purpose"));
    answer = run_typed(&f, throwing);
    CHECK(answer->error == TN_HOST_EXCEPTION && answer->status == TN_EXCEPTION && answer->code == TN_XLA_UNKNOWN);
    CHECK(body_has(answer, "XLA FFI call failed: thrown on purpose (std::runtime_error)"));
  }
  release(failing);
  release(throwing);
  close_fixture(&f);
}

TEST(host_typed_kernel_checks_operands) {
  const fixture_t f = open_fixture();
  const uint32_t kernel = typed(0, FAULT_NONE);
  tn_host_operand_t operands[3] = {READ(f.id, 0, BYTES), WRITE(f.id, 1024, BYTES), READ(f.id, 0, 0)};
  CHECK(is_refused(run(kernel, operands, 1, NULL, 0), TN_INVALID_ARGUMENT, "2 operands and results, got 1"));
  CHECK(is_refused(run(kernel, operands, 3, NULL, 0), TN_INVALID_ARGUMENT, "got 3"));
  operands[0].length = BYTES - 1;
  CHECK(is_refused(run(kernel, operands, 2, NULL, 0), TN_INVALID_ARGUMENT, "operand 0 must have 64 bytes, got 63"));
  operands[0] = (tn_host_operand_t){.flags = TN_HOST_NULL};
  CHECK(is_refused(run(kernel, operands, 2, NULL, 0), TN_INVALID_ARGUMENT, "operand 0 must have 64 bytes, got 0"));
  operands[0] = (tn_host_operand_t)READ(f.id, 0, BYTES);
  operands[1].flags = TN_HOST_READ_ONLY;
  CHECK(is_refused(run(kernel, operands, 2, NULL, 0), TN_INVALID_ARGUMENT, "operand 1 is a result"));
  release(kernel);
  close_fixture(&f);
}

TEST(host_typed_kernel_runs_with_the_dimensions_of_a_request) {
  const fixture_t f = open_fixture();
  const uint32_t kernel = typed(0, FAULT_NONE);
  tn_host_operand_t operands[2] = {READ(f.id, 0, BYTES), WRITE(f.id, 1024, BYTES)};
  int64_t dims[2] = {4, 4};
  f.y[4] = -1;
  CHECK(run(kernel, operands, 2, dims, sizeof dims)->status == TN_OK && f.y[3] == 6 && f.y[4] == -1);
  /* They stay. */
  operands[0].length = operands[1].length = 4 * sizeof(float);
  CHECK(run(kernel, operands, 2, NULL, 0)->status == TN_OK && f.y[4] == -1);
  dims[0] = dims[1] = 5;
  CHECK(is_refused(run(kernel, operands, 2, dims, sizeof dims), TN_INVALID_ARGUMENT, "operand 0 must have 20 bytes, got 16"));
  CHECK(is_refused(run(kernel, operands, 2, dims, sizeof dims - 1), TN_INVALID_ARGUMENT, "must have 16 bytes, the dimensions"));
  CHECK(is_refused(run(kernel, operands, 2, dims, sizeof dims[0]), TN_INVALID_ARGUMENT, "got 8"));
  dims[1] = -1;
  CHECK(is_refused(run(kernel, operands, 2, dims, sizeof dims), TN_INVALID_ARGUMENT, "must not be negative, got -1"));
  dims[0] = dims[1] = INT64_MAX;
  CHECK(is_refused(run(kernel, operands, 2, dims, sizeof dims), TN_INVALID_ARGUMENT, "operand 0 must have 18446744073709551615"));
  dims[0] = dims[1] = 0;
  CHECK(run(kernel, operands, 2, dims, sizeof dims)->status == TN_OK);
  dims[0] = dims[1] = COUNT;
  operands[0].length = operands[1].length = BYTES;
  CHECK(run(kernel, operands, 2, dims, sizeof dims)->status == TN_OK && is_doubled(&f));
  release(kernel);
  close_fixture(&f);
}

TEST(host_typed_kernel_takes_operands_and_bodies_from_memory) {
  const fixture_t f = open_fixture();
  /* The descriptor of the kernel lies in memory, and so do the operands of its runs. */
  const descriptor_t d = descriptor_of(0, FAULT_NONE);
  const tn_host_kernel_t head = {library(), TN_HOST_XLA, 1, 1, 0, {0, 0, 0, 6}, (uint32_t)d.size};
  uint8_t *body = f.bytes + 2304;
  memcpy(body, &head, sizeof head);
  memcpy(body + sizeof head, "faulty\0\0", 8);
  memcpy(body + sizeof head + 8, d.bytes, d.size);
  const uint32_t length = (uint32_t)(sizeof head + 8 + d.size), kernel = new_id();
  const tn_host_operand_t at[1] = {READ(f.id, 2304, length)};
  memcpy(slot_zero() + 1, at, sizeof at);
  CHECK(serve((tn_host_slot_t){.operation = TN_HOST_KERNEL, .target = kernel, .length = length, .flags = TN_HOST_LONG_BODY},
              NULL, 0, NULL)->status == TN_OK);
  const tn_host_operand_t operands[2] = {READ(f.id, 0, BYTES), WRITE(f.id, 1024, BYTES)};
  memcpy(f.bytes + 3072, operands, sizeof operands);
  const tn_host_operand_t many = READ(f.id, 3072, sizeof operands);
  memcpy(slot_zero() + 1, &many, sizeof many);
  CHECK(serve((tn_host_slot_t){.operation = TN_HOST_RUN, .target = kernel, .operands = 2, .flags = TN_HOST_MANY}, NULL, 0,
              NULL)->status == TN_OK);
  CHECK(is_doubled(&f));
  release(kernel);
  close_fixture(&f);
}

TEST(host_registered_kernel_is_found_by_its_name_alone) {
  const fixture_t f = open_fixture();
  const descriptor_t d = descriptor_of(0, FAULT_NONE);
  const uint32_t kernel = make_kernel(
      &(kernel_t){library(), TN_HOST_REGISTERED, 1, 1, {NULL, NULL, NULL, "faulty_registered"}, d.bytes, d.size});
  CHECK(kernel != 0 && run_typed(&f, kernel)->status == TN_OK && is_doubled(&f));
  release(kernel);
  close_fixture(&f);
}

static uint32_t counter(int64_t start) {
  descriptor_t d;
  const int64_t two = 2;
  put_header(&d, 0, 0, 1, 1, (tn_xla_bundle_v1_t){NULL, NULL, NULL, NULL});
  put_buffer(&d, TN_XLA_S64, 1, &two);
  put_scalar(&d, "start", TN_XLA_S64, &start);
  return make_kernel(&(kernel_t){library(), TN_HOST_XLA, 0, 1, {"counter_instantiate", NULL, NULL, "counter"}, d.bytes, d.size});
}

TEST(host_typed_kernel_instantiates_when_it_is_made_and_its_state_dies_with_it) {
  const fixture_t f = open_fixture();
  const int64_t *y = (const int64_t *)(const void *)f.y;
  const uint32_t first = counter(10), second = counter(0);
  const tn_host_operand_t result = WRITE(f.id, 1024, 16);
  CHECK(first != 0 && second != 0);
  CHECK(run(first, &result, 1, NULL, 0)->status == TN_OK && y[0] == 11 && y[1] == 2);
  CHECK(run(first, &result, 1, NULL, 0)->status == TN_OK && y[0] == 12 && y[1] == 2);
  CHECK(run(second, &result, 1, NULL, 0)->status == TN_OK && y[0] == 1 && y[1] == 2);
  release(second);
  CHECK(run(first, &result, 1, NULL, 0)->status == TN_OK && y[0] == 13 && y[1] == 1);
  CHECK(counter(-5) == 0);
  const tn_host_slot_t *answer = slot_zero();
  CHECK(answer->error == TN_HOST_XLA_ERROR && answer->code == TN_XLA_OUT_OF_RANGE && answer->value == TN_XLA_INSTANTIATE);
  CHECK(body_has(answer, "start must not be negative, got -5"));
  CHECK(run(first, &result, 1, NULL, 0)->status == TN_OK && y[1] == 1);
  release(first);
  CHECK(tn_xla_live_states() == 0);
  close_fixture(&f);
}

TEST(host_kernel_requests_are_checked) {
  const descriptor_t d = descriptor_of(0, FAULT_NONE);
  kernel_t good = {library(), TN_HOST_XLA, 1, 1, {NULL, NULL, NULL, "faulty"}, d.bytes, d.size};
#define REFUSED(change, code, text)                                                  \
  do {                                                                               \
    kernel_t wrong = good;                                                           \
    wrong.change;                                                                    \
    CHECK(make_kernel(&wrong) == 0 && is_refused(slot_zero(), code, text));          \
  } while (0)
  REFUSED(library = 0, TN_NOT_FOUND, "no library 0");
  REFUSED(convention = 0, TN_INVALID_ARGUMENT, "convention");
  REFUSED(convention = TN_HOST_SCRIPT, TN_INVALID_ARGUMENT, "convention");
  REFUSED(operands = 2, TN_INVALID_ARGUMENT, "descriptor");
  REFUSED(results = 0, TN_INVALID_ARGUMENT, "descriptor");
  REFUSED(operands = UINT32_MAX, TN_INVALID_ARGUMENT, "at most 65536");
  REFUSED(symbols[3] = NULL, TN_INVALID_ARGUMENT, "execute");
  REFUSED(symbols[3] = "missing", TN_NOT_FOUND, "does not export the symbol missing");
  REFUSED(symbols[0] = "missing", TN_NOT_FOUND, "does not export the symbol missing");
  REFUSED(descriptor_length = d.size - 8, TN_INVALID_ARGUMENT, "the descriptor ends");
  REFUSED(descriptor_length = 0, TN_INVALID_ARGUMENT, "descriptor");
  REFUSED(convention = TN_HOST_ORIGINAL, TN_INVALID_ARGUMENT, "opaque");
  REFUSED(convention = TN_HOST_REGISTERED, TN_NOT_FOUND, "No FFI handler registered for faulty");
  CHECK(is_refused(ask(TN_HOST_KERNEL, UINT32_MAX, NULL, 0), TN_INVALID_ARGUMENT, "must be new"));
  CHECK(is_refused(ask(TN_HOST_KERNEL, 1, NULL, 0), TN_INVALID_ARGUMENT, "at least 40 bytes"));
  CHECK(make_kernel(&good) != 0);
  const uint32_t taken = new_id() - 1;
  CHECK(is_refused(ask(TN_HOST_KERNEL, taken, NULL, 0), TN_INVALID_ARGUMENT, "must be new"));
  release(taken);
}

TEST(host_typed_kernel_refuses_handlers_without_a_version_of_its_own) {
  const descriptor_t d = descriptor_of(0, FAULT_NONE);
  kernel_t kernel = {library(), TN_HOST_XLA, 1, 1, {NULL, NULL, NULL, "faulty_silent"}, d.bytes, d.size};
  CHECK(make_kernel(&kernel) == 0 && is_refused(slot_zero(), TN_VERSION_MISMATCH, "does not answer"));
  CHECK(slot_zero()->code == -1 && slot_zero()->value == TN_XLA_OK);
  kernel.symbols[3] = "faulty_refusing";
  CHECK(make_kernel(&kernel) == 0 && is_refused(slot_zero(), TN_VERSION_MISMATCH, "no questions"));
  CHECK(slot_zero()->code == -1 && slot_zero()->value == TN_XLA_UNIMPLEMENTED && slot_zero()->length == 12);
  kernel.symbols[3] = "faulty_newer";
  CHECK(make_kernel(&kernel) == 0 && is_refused(slot_zero(), TN_VERSION_MISMATCH, "got 1.7"));
  CHECK(slot_zero()->code == (1 << 16 | 7));
}

TEST(host_kernel_requests_of_random_lengths_are_refused_or_run) {
  const descriptor_t d = descriptor_of(0, FAULT_NONE);
  uint64_t random = 7;
  CHECK(make_kernel(&(kernel_t){library(), TN_HOST_XLA, 1, 1, {NULL, NULL, NULL, "faulty"}, d.bytes, d.size}) != 0);
  static uint8_t whole[TN_HOST_BODY_SIZE], changed[TN_HOST_BODY_SIZE];
  const size_t length = sizeof(tn_host_kernel_t) + 16 + d.size;
  memcpy(whole, body_zero(), length);
  for (int round = 0; round < 3000; round++) {
    memcpy(changed, whole, length);
    for (int i = 0; i < 3; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      /* Any byte but those of the names of symbols. */
      const size_t at = (size_t)(random >> 33) % length;
      if (at < sizeof(tn_host_kernel_t) || at >= sizeof(tn_host_kernel_t) + 16) changed[at] = (uint8_t)(random >> 20);
    }
    const uint32_t id = new_id();
    if (ask(TN_HOST_KERNEL, id, changed, length - (random >> 60))->status == TN_OK) release(id);
  }
}

TEST(host_libraries_that_cannot_be_loaded_say_why) {
  static const char missing[] = "/nowhere/libmissing.so";
  const tn_host_slot_t *answer = ask(TN_HOST_LOAD, new_id(), missing, sizeof missing - 1);
  CHECK(answer->error == TN_HOST_LOAD_ERROR && answer->status == TN_LOAD_FAILED && body_has(answer, missing));
  CHECK(is_refused(ask(TN_HOST_LOAD, new_id(), NULL, 0), TN_INVALID_ARGUMENT, "1 to 4095 bytes"));
  CHECK(is_refused(ask(TN_HOST_LOAD, library(), missing, 5), TN_INVALID_ARGUMENT, "must be new"));
  answer = ask(TN_HOST_LOAD, new_id(), "a\0b\0c", 5);
  CHECK(answer->error == TN_HOST_LOAD_ERROR && body_has(answer, "NUL"));
  answer = ask(TN_HOST_LOAD, new_id(), "/proc/self/exe\0" "1 2 3 4", 22);
  CHECK(answer->error == TN_HOST_LOAD_ERROR && body_has(answer, "was replaced after the library was opened"));
}

TEST(host_untyped_kernels_of_all_conventions_run_fail_and_throw) {
  const fixture_t f = open_fixture();
  const struct {
    uint32_t convention, operands;
    const char *symbol;
  } all[] = {{TN_HOST_ORIGINAL, 2, "faulty_original"}, {TN_HOST_STATUS, 2, "faulty_status"}, {TN_HOST_UNIFIED, 1, "faulty_unified"}};
  const tn_host_operand_t operands[3] = {READ(f.id, 2048, 4), READ(f.id, 0, BYTES), WRITE(f.id, 1024, BYTES)};
  for (size_t i = 0; i < 3; i++) {
    for (int fault = FAULT_NONE; fault <= FAULT_ERROR; fault += fault == FAULT_NONE ? FAULT_THROW : 1) {
      char opaque[16];
      snprintf(opaque, sizeof opaque, "%d", fault);
      const bool is_unified = all[i].convention == TN_HOST_UNIFIED;
      const kernel_t kernel = {library(), all[i].convention, all[i].operands, 1, {NULL, NULL, NULL, all[i].symbol},
                               is_unified ? opaque : NULL, is_unified ? strlen(opaque) : 0};
      const uint32_t id = make_kernel(&kernel);
      CHECK(id != 0);
      *f.fault = fault;
      memset(f.y, 0, BYTES);
      const tn_host_slot_t *answer = run(id, operands + 2 - all[i].operands, all[i].operands + 1, NULL, 0);
      if (fault == FAULT_NONE) {
        CHECK(answer->status == TN_OK && is_doubled(&f));
      } else if (fault == FAULT_THROW) {
        CHECK(answer->error == TN_HOST_EXCEPTION && answer->status == TN_EXCEPTION && answer->code == TN_XLA_UNKNOWN);
        CHECK(body_has(answer, "thrown on purpose (std::runtime_error)"));
      } else if (all[i].convention != TN_HOST_ORIGINAL) {
        CHECK(answer->error == TN_HOST_XLA_ERROR && answer->code == TN_XLA_INTERNAL && answer->value == TN_XLA_EXECUTE);
        CHECK(answer->length == 17 && body_has(answer, "failed on purpose"));
      }
      CHECK(is_refused(run(id, operands, 1, NULL, 0), TN_INVALID_ARGUMENT, "operands and results, got 1"));
      release(id);
    }
  }
  close_fixture(&f);
}
