#include "support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/kernels/client_memories.h"
#include "host/kernels/serve.h"
#include "host/kernels/siblings.h"

static _Alignas(4096) uint8_t command[TN_HOST_COMMAND_SIZE];
static int32_t sent_descriptor = -1;
void (*called_back)(tn_host_slot_t *slot, uint8_t *body);

/* --- the functions of the core that need a client in another process; others use them as they are ------------------- */

int32_t tn_host_receive_memory(uint32_t id, int32_t *descriptor) {
  (void)id;
  if (sent_descriptor < 0) return TN_CLOSED;
  *descriptor = sent_descriptor;
  sent_descriptor = -1;
  return TN_OK;
}

int32_t tn_host_call_back(uint32_t slot) {
  (void)slot;
  if (called_back == NULL) return TN_CLOSED;
  called_back(slot_zero(), body_zero());
  return TN_OK;
}

/* -------------------------------------------------------------------------------------------------------------------- */

tn_host_slot_t *slot_zero(void) { return (tn_host_slot_t *)(void *)(command + TN_HOST_SLOTS_OFFSET); }
uint8_t *body_zero(void) { return command + TN_HOST_BODIES_OFFSET; }
tn_host_header_t *header(void) { return (tn_host_header_t *)(void *)command; }

const tn_host_slot_t *serve(tn_host_slot_t request, const void *body, size_t length, const tn_host_operand_t *operands) {
  tn_host_slot_t *slot = slot_zero();
  request.state = TN_HOST_POSTED;
  if (request.length == 0) request.length = (uint32_t)length;
  *slot = request;
  if (length > 0) memcpy(body_zero(), body, length);
  if (operands != NULL) memcpy(slot + 1, operands, TN_HOST_OPERANDS < request.operands ? 0 : request.operands * sizeof *operands);
  tn__host_serve(command, 0);
  return slot;
}

void guard(bool is_on) { tn__memories_guard(is_on); }

uint32_t new_id(void) {
  static uint32_t last = 100;
  return ++last;
}

uint8_t *share(uint32_t id, size_t size, bool is_writable) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) abort();
  uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) abort();
  sent_descriptor = file;
  const tn_host_memory_t memory = {.byte_size = size, .is_writable = is_writable};
  if (ask(TN_HOST_MEMORY, id, &memory, sizeof memory)->status != TN_OK) abort();
  return bytes;
}

void unshare(uint32_t id, uint8_t *bytes, size_t size) {
  if (ask(TN_HOST_RELEASE_MEMORY, id, NULL, 0)->status != TN_OK) abort();
  munmap(bytes, size);
}

void send_descriptor(int32_t descriptor) { sent_descriptor = descriptor; }

uint32_t load(const char *name) {
  char path[4096];
  const uint32_t id = new_id();
  if (!tn__sibling_path(name, path, sizeof path) || ask(TN_HOST_LOAD, id, path, strlen(path))->status != TN_OK) {
    fprintf(stderr, "%s: %.*s\n", path, (int)slot_zero()->length, body_zero());
    abort();
  }
  return id;
}

uint32_t make_kernel(const kernel_t *kernel) {
  static uint8_t body[TN_HOST_BODY_SIZE];
  tn_host_kernel_t head = {.library = kernel->library,
                           .convention = kernel->convention,
                           .operands = kernel->operands,
                           .results = kernel->results,
                           .name_length = 4,
                           .descriptor_length = (uint32_t)kernel->descriptor_length};
  size_t used = sizeof head;
  memcpy(body + used, "name", 4);
  used += 4;
  for (int i = 0; i < 4; i++) {
    const char *symbol = kernel->symbols[i] == NULL ? "" : kernel->symbols[i];
    head.symbol_lengths[i] = (uint32_t)strlen(symbol);
    memcpy(body + used, symbol, strlen(symbol));
    used += strlen(symbol);
  }
  memcpy(body, &head, sizeof head);
  if (kernel->descriptor_length > 0) {
    while (used % 8 != 0) body[used++] = 0;
    memcpy(body + used, kernel->descriptor, kernel->descriptor_length);
    used += kernel->descriptor_length;
  }
  const uint32_t id = new_id();
  return ask(TN_HOST_KERNEL, id, body, used)->status == TN_OK ? id : 0;
}

const tn_host_slot_t *run(uint32_t kernel, const tn_host_operand_t *operands, uint32_t count, const void *body,
                          size_t length) {
  return serve((tn_host_slot_t){.operation = TN_HOST_RUN, .target = kernel, .operands = count}, body, length, operands);
}

bool body_has(const tn_host_slot_t *answer, const char *text) {
  return memmem(body_zero(), answer->length, text, strlen(text)) != NULL;
}

bool is_refused(const tn_host_slot_t *answer, int32_t status, const char *text) {
  if (answer->error == TN_HOST_REQUEST_ERROR && answer->status == status && body_has(answer, text)) return true;
  fprintf(stderr, "error %u, status %d: %.*s\n", answer->error, answer->status, (int)answer->length, body_zero());
  return false;
}
