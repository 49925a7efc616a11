/* A program that makes the calls and upcalls of a file of records through the core's C code and assembly, and writes
 * what it saw to another file. TypeScript makes the records and compares (direct.ts). */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/stubs.h"
#include "tenon_call.h"

extern void (*const fuzz_callees[])(void);
extern void (*const fuzz_callers[])(void *);

unsigned char *fuzz_log;
const unsigned char *fuzz_input;

static tn_call_frame_t frame;
static FILE *records, *output;

/* What callees and callers receive and return. */
static unsigned char log_bytes[1 << 16];
static unsigned char memory[1 << 16];

#define NOWHERE UINT32_MAX
#define RESULTS_SIZE (offsetof(tn_call_frame_t, integers) - offsetof(tn_call_frame_t, results))

/* --- Records --- */

static void read_bytes(void *bytes, size_t size) {
  if (fread(bytes, 1, size, records) != size) abort();
}

static uint32_t read_number(void) {
  uint32_t number;
  read_bytes(&number, sizeof number);
  return number;
}

/* Reads bytes with their size. */
static uint32_t read_block(void *bytes, size_t capacity) {
  const uint32_t size = read_number();
  if (size > capacity) abort();
  read_bytes(bytes, size);
  return size;
}

static void write_block(const void *bytes, size_t size) {
  const uint32_t number = (uint32_t)size;
  if (fwrite(&number, 1, sizeof number, output) != sizeof number || fwrite(bytes, 1, size, output) != size) abort();
}

static void *address_at(uint32_t word) {
  uint64_t value;
  memcpy(&value, (unsigned char *)&frame + 4 * (size_t)word, sizeof value);
  return (void *)(uintptr_t)value;
}

/* --- The environment of the only thread --- */

static struct {
  uint32_t count, memory_word, memory_size, indirect_count;
  unsigned char results[RESULTS_SIZE], memory[1 << 15];
  struct {
    uint32_t word, size;
  } indirect[256];
} upcall;

/* Stands for a function of TypeScript. */
static int32_t dispatch(void *data) {
  const uint32_t *stack_size = data;
  upcall.count++;
  write_block(&frame, offsetof(tn_call_frame_t, stack) + *stack_size);
  for (uint32_t i = 0; i < upcall.indirect_count; i++)
    write_block(address_at(upcall.indirect[i].word), upcall.indirect[i].size);
  frame.error_number = 0;
  memcpy(frame.results, upcall.results, RESULTS_SIZE);
  memcpy(frame.stack, upcall.memory, upcall.memory_size);
  return 0;
}

static void wake(void *data) { (void)data; }

static uint32_t stack_size;

/* --- Calls --- */

static void enter(uintptr_t target) {
  frame.target = target;
  fuzz_log = log_bytes;
  tn_driver_enter();
  if (frame.state != TN_CALL_RETURNED) abort();
}

static void run_call(void) {
  const uint32_t index = read_number(), memory_word = read_number(), memory_size = read_number();
  static unsigned char input[1 << 16];
  read_block(input, sizeof input);
  read_block(&frame, offsetof(tn_call_frame_t, copy_count));
  read_block(&frame.copy_count, sizeof frame - offsetof(tn_call_frame_t, copy_count));
  const uint64_t address = (uintptr_t)memory;
  if (memory_word != NOWHERE) memcpy((unsigned char *)&frame + 4 * (size_t)memory_word, &address, sizeof address);
  fuzz_input = input;
  enter((uintptr_t)fuzz_callees[index]);
  write_block(log_bytes, (size_t)(fuzz_log - log_bytes));
  write_block(frame.results, RESULTS_SIZE);
  write_block(memory, memory_size);
}

/* Has a caller call a stub: `calls_in` is how often a function of TypeScript runs. */
static void call_back(uint32_t index, void *stub, const unsigned char *input, uint32_t calls_in) {
  fuzz_input = input;
  upcall.count = 0;
  memset(&frame, 0, offsetof(tn_call_frame_t, stack));
  frame.integers[0] = (uintptr_t)stub;
  enter((uintptr_t)fuzz_callers[index]);
  if (upcall.count != calls_in) abort();
  write_block(log_bytes, (size_t)(fuzz_log - log_bytes));
}

static void run_upcall(void) {
  static unsigned char input[1 << 16];
  const uint32_t index = read_number();
  stack_size = read_number();
  const uint32_t result_size = read_number();
  read_block(input, sizeof input);
  read_block(upcall.results, sizeof upcall.results);
  upcall.memory_size = read_block(upcall.memory, sizeof upcall.memory);
  upcall.indirect_count = read_number();
  for (uint32_t i = 0; i < upcall.indirect_count; i++) {
    upcall.indirect[i].word = read_number();
    upcall.indirect[i].size = read_number();
  }
  const tn_stub_description_t description = {
      .stack_size = stack_size, .result_size = result_size, .timeout_ms = UINT32_MAX, .threads = TN_THREADS_RELAY};
  void *stub;
  if (tn_stub_create(&description, &stub) != TN_OK) abort();
  call_back(index, stub, input, 1);
  /* Dead stubs return 0 in every register and in memory. */
  if (tn_stub_close(stub) != TN_OK) abort();
  call_back(index, stub, input, 0);
}

/* Uses up all but some of the stubs that are part of the library, so that generated ones are tested too. */
static void use_static_stubs(void) {
  const tn_stub_description_t description = {.timeout_ms = UINT32_MAX};
  void *stub;
  for (int i = 0; i < TN__STATIC_STUBS - 64; i++)
    if (tn_stub_create(&description, &stub) != TN_OK) abort();
}

extern const tn_guard_t tn_guard;
void fuzz_throw(void (*before)(void));

static void do_nothing(void) {}

static int32_t throw_in_entry(tn_call_frame_t *unused) {
  (void)unused;
  fuzz_throw(do_nothing);
  return 0;
}

static bool was_caught(void) {
  return frame.state == TN_CALL_CAUGHT && strcmp(tn_last_error(), "thrown by the target (std::runtime_error)") == 0;
}

/* A C++ exception of a target or of an entry ends the call, and nothing more. */
static void check_exceptions(void) {
  if (tn_guard_install(&tn_guard) != TN_OK) abort();
  for (int i = 0; i < 3; i++) {
    memset(&frame, 0, offsetof(tn_call_frame_t, stack));
    frame.target = (uintptr_t)fuzz_throw;
    frame.integers[0] = (uintptr_t)do_nothing;
    frame.stack_size = 64;
    tn_driver_enter();
    if (!was_caught()) abort();
    tn_driver_run(throw_in_entry);
    if (!was_caught() || frame.error_number != TN_EXCEPTION) abort();
  }
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  records = fopen(arguments[1], "rb");
  output = fopen(arguments[2], "wb");
  if (records == NULL || output == NULL) return 2;
  const tn_driver_t driver = {&stack_size, dispatch, wake};
  if (tn_environment_open(&frame, &driver) != TN_OK) abort();
  check_exceptions();
  use_static_stubs();
  for (uint32_t left = read_number(); left > 0; left--) {
    if (read_number() == 0)
      run_call();
    else
      run_upcall();
    /* If the next one crashes, this one is known to have passed. */
    fflush(output);
  }
  return fclose(output) == 0 ? 0 : 1;
}
