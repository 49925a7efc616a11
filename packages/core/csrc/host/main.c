/* tenon-host: a worker that runs compiled kernels. It is started by tn_host_start(). */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"
#include "kernels/serve.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Closes what the client's process has opened without close-on-exec. Before Linux 5.9 it stays open. */
static void close_inherited(void) { syscall(SYS_close_range, TN_HOST_STDERR + 1, ~0u, 0); }

static void say_hello(uint8_t *command, uint32_t index, bool is_filtered) {
  tn_host_slot_t *slot = (tn_host_slot_t *)(void *)(command + TN_HOST_SLOTS_OFFSET + (size_t)index * TN_HOST_SLOT_SIZE);
  const tn_host_hello_t hello = {
      .version = TN_HOST_VERSION, .is_filtered = is_filtered, .process = (uint64_t)getpid()};
  memcpy(command + TN_HOST_BODIES_OFFSET + (size_t)index * TN_HOST_BODY_SIZE, &hello, sizeof hello);
  slot->status = TN_OK;
  slot->error = TN_HOST_NO_ERROR;
  slot->length = sizeof hello;
}

static int fail(const char *what) {
  fprintf(stderr, "tenon-host: %s: %s\n", what, tn_last_error());
  return 1;
}

int main(void) {
  close_inherited();
  /* What kernels print is seen line by line. A pipe or a file would get it when the buffer is full, and nothing after a crash. */
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  uint8_t *command;
  if (tn_host_attach(&command) != TN_OK) return fail("cannot attach to the client");
  const tn_host_header_t *header = (const tn_host_header_t *)(const void *)command;
  const uint32_t flags = header->flags;
  tn__record_crashes(command);
  tn__record_refusals(command);
  tn__limit_process(header->memory_limit, (flags & TN_HOST_CORE_DUMPS) != 0);
  const bool is_sandboxed = (flags & TN_HOST_SANDBOX) != 0;
  if (is_sandboxed) tn__close_other_processes();
  const bool is_filtered = is_sandboxed && tn__filter_system_calls();
  for (;;) {
    uint32_t slot;
    if (tn_host_take(&slot, -1) != TN_OK) return fail("cannot take a request");
    const tn_host_slot_t *request =
        (const tn_host_slot_t *)(const void *)(command + TN_HOST_SLOTS_OFFSET + (size_t)slot * TN_HOST_SLOT_SIZE);
    if (request->operation == TN_HOST_HELLO)
      say_hello(command, slot, is_filtered);
    else
      tn__host_serve(command, slot);
    /* Both open libraries: the runtime of packed functions comes with the first of their kernels. */
    if (request->operation == TN_HOST_LOAD || request->operation == TN_HOST_KERNEL) tn__record_crashes(command);
    tn_host_answer(slot);
  }
}
