/* Every fault of libfaulty, in a worker: how the process ends, and what its record says. */
#include "fixture/faulty/faults.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/kernels/siblings.h"
#include "host/kernels/value.h"
#include "support.h"

#define SECOND INT64_C(1000000000)

enum { COUNT = 16, BYTES = 64 };
enum { LIBRARY = 1, KERNEL = 2, MEMORY = 3 };

/* x and y end at the ends of pages, as guard mode needs it. */
static uint64_t x_offset(void) { return 2 * tn_page_size() - BYTES; }
static uint64_t y_offset(void) { return 5 * tn_page_size() - BYTES; }
static size_t memory_size(void) { return 8 * tn_page_size(); }

typedef struct {
  tn_host_t *host;
  tn_host_info_t info;
  uint8_t *bytes; /* of the memory */
  int descriptor;
  uint32_t slot; /* of the last request; they are used in turn */
} client_t;

static tn_host_slot_t *slot_of(const client_t *client) {
  return (tn_host_slot_t *)(void *)(client->info.command + TN_HOST_SLOTS_OFFSET + (size_t)client->slot * TN_HOST_SLOT_SIZE);
}

static uint8_t *body_of(const client_t *client) {
  return client->info.command + TN_HOST_BODIES_OFFSET + (size_t)client->slot * TN_HOST_BODY_SIZE;
}

/* Posts a request in the next slot, and waits for its answer. TN_CLOSED: the worker has ended. */
static int32_t exchange(client_t *client, tn_host_slot_t request, const void *body, size_t length,
                        const tn_host_operand_t *operands) {
  static uint64_t last_id = 10;
  client->slot = (client->slot + 1) % TN_HOST_SLOTS;
  tn_host_slot_t *slot = slot_of(client);
  request.id = ++last_id;
  request.deadline = UINT64_MAX;
  request.length = (uint32_t)length;
  *slot = request;
  if (length > 0) memcpy(body_of(client), body, length);
  if (operands != NULL) memcpy(slot + 1, operands, request.operands * sizeof *operands);
  atomic_store((_Atomic uint32_t *)(void *)&slot->state, TN_HOST_POSTED);
  const int32_t status = tn_host_exchange(client->host, client->slot, 5 * SECOND);
  return status == TN_OK ? slot->status : status;
}

static bool open_client(client_t *client, uint32_t flags) {
  char program[4096];
  *client = (client_t){.descriptor = -1};
  if (!tn__sibling_path("tenon", program, sizeof program)) return false;
  strcpy(strrchr(program, '/') + 1, "tenon-host");
  const char *arguments[] = {program, NULL}, *environment[] = {NULL};
  const tn_host_start_t start = {.struct_size = sizeof start,
                                 .program = program,
                                 .arguments = arguments,
                                 .environment = environment,
                                 .grace = (uint64_t)SECOND / 10,
                                 .flags = flags | TN_HOST_SANDBOX,
                                 .ignores_output = 1};
  if (tn_host_start(&start, &client->host) != TN_OK) return false;
  tn_host_describe(client->host, &client->info);
  if (tn_host_wait(client->host, 0, 5 * SECOND) != TN_OK) return false;
  client->descriptor = memfd_create("test", MFD_CLOEXEC);
  if (ftruncate(client->descriptor, (off_t)memory_size()) != 0) return false;
  client->bytes = mmap(NULL, memory_size(), PROT_READ | PROT_WRITE, MAP_SHARED, client->descriptor, 0);
  const tn_host_memory_t memory = {.byte_size = memory_size(), .is_writable = 1};
  for (int i = 0; i < COUNT; i++) ((float *)(void *)(client->bytes + x_offset()))[i] = (float)i;
  return tn_host_send_memory(client->host, MEMORY, client->descriptor) == TN_OK &&
         exchange(client, (tn_host_slot_t){.operation = TN_HOST_MEMORY, .target = MEMORY}, &memory, sizeof memory, NULL) == TN_OK;
}

static void close_client(client_t *client) {
  if (client->bytes != NULL) munmap(client->bytes, memory_size());
  if (client->descriptor >= 0) close(client->descriptor);
  if (client->host != NULL) tn_host_close(client->host);
}

static bool load_library(client_t *client, const char *name) {
  char path[4096];
  return tn__sibling_path(name, path, sizeof path) &&
         exchange(client, (tn_host_slot_t){.operation = TN_HOST_LOAD, .target = LIBRARY}, path, strlen(path), NULL) == TN_OK;
}

/* Makes a kernel of a fault. */
static bool add_kernel(client_t *client, uint32_t convention, int32_t fault) {
  _Alignas(8) uint8_t body[1024];
  descriptor_t d = {.size = 0};
  const int64_t count = COUNT;
  if (convention == TN_HOST_XLA) {
    put_header(&d, 0, 1, 1, 1, (tn_xla_bundle_v1_t){NULL, NULL, NULL, NULL});
    put_buffer(&d, TN_XLA_F32, 1, &count);
    put_buffer(&d, TN_XLA_F32, 1, &count);
    put_scalar(&d, "fault", TN_XLA_S32, &fault);
  } else if (convention == TN_HOST_UNIFIED) {
    d.size = (size_t)sprintf((char *)d.bytes, "%d", fault);
  }
  const char *symbol = convention == TN_HOST_UNIFIED ? "faulty_unified\0\0" : "faulty\0\0";
  const uint32_t length = (uint32_t)strlen(symbol);
  const bool is_packed = convention == TN_HOST_PACKED;
  const tn_host_kernel_t head = {LIBRARY, convention, is_packed ? 0 : 1, is_packed ? 0 : 1, 0, {0, 0, 0, length}, (uint32_t)d.size};
  const size_t padded = (length + 7) / 8 * 8;
  memcpy(body, &head, sizeof head);
  memcpy(body + sizeof head, symbol, padded);
  memcpy(body + sizeof head + padded, d.bytes, d.size);
  const size_t size = sizeof head + (is_packed ? length : padded + d.size);
  return exchange(client, (tn_host_slot_t){.operation = TN_HOST_KERNEL, .target = KERNEL}, body, size, NULL) == TN_OK;
}

static void put_tensor(tn__pack_writer_t *message, uint32_t operand) {
  const struct {
    uint32_t operand;
    DLDataType dtype;
    int64_t count;
  } tensor = {operand, {kDLFloat, 32, 1}, COUNT};
  tn__pack_ext(message, TN__VALUE_TENSOR, sizeof tensor);
  tn__pack_raw(message, &tensor, sizeof tensor);
}

/* Runs the kernel. */
static int32_t run_kernel(client_t *client, uint32_t convention, int32_t fault) {
  const tn_host_operand_t operands[2] = {READ(MEMORY, x_offset(), BYTES), WRITE(MEMORY, y_offset(), BYTES)};
  uint8_t arguments[128];
  tn__pack_writer_t message = tn__pack_writer(arguments, sizeof arguments);
  if (convention == TN_HOST_PACKED) {
    tn__pack_array(&message, 3);
    tn__pack_int(&message, fault);
    put_tensor(&message, 0);
    put_tensor(&message, 1);
  }
  return exchange(client, (tn_host_slot_t){.operation = TN_HOST_RUN, .target = KERNEL, .operands = 2}, message.bytes,
                  message.used, operands);
}

/* What a fault does: a signal that ends the process, an exit code, or nothing. */
typedef struct {
  int32_t fault;
  int32_t signal;     /* 0: none */
  int32_t exit_code;  /* if there is no signal; -1: the process goes on */
  int64_t offset;     /* in guard mode, of the address in the operand */
  uint32_t operand;   /* in guard mode; UINT32_MAX: the process goes on in plain mode too */
  uint32_t access;
} expected_t;

#define NONE UINT32_MAX
static const expected_t all[] = {
    {FAULT_SEGV, SIGSEGV, -1, 0, NONE, 2},
    {FAULT_NULL, SIGSEGV, -1, 0, NONE, 2},
    {FAULT_ABORT, SIGABRT, -1, 0, NONE, 0},
    {FAULT_STACK, SIGSEGV, -1, 0, NONE, 0},
    {FAULT_EXIT, 0, 3, 0, NONE, 0},
    {FAULT_EXIT_NOW, 0, 0, 0, NONE, 0},
    {FAULT_TRAP, SIGILL, -1, 0, NONE, 0},
    {FAULT_KILL, SIGKILL, -1, 0, NONE, 0},
    {FAULT_HEAP, SIGABRT, -1, 0, NONE, 0},
    {FAULT_THREAD_THROW, SIGABRT, -1, 0, NONE, 0},
    {FAULT_EXEC, 0, -1, 0, NONE, 0},
    {FAULT_FORK, 0, -1, 0, NONE, 0},
    {FAULT_WRITE_PAST, SIGSEGV, -1, BYTES, 1, 2},
    {FAULT_WRITE_OPERAND, SIGSEGV, -1, 12, 0, 2},
    {FAULT_READ_BEFORE, SIGSEGV, -1, -4100, 0, 1},
    {FAULT_READ_PAST, SIGSEGV, -1, BYTES, 0, 1},
    {FAULT_DIVIDE, SIGFPE, -1, 0, NONE, 0},
    {FAULT_NON_CANONICAL, SIGSEGV, -1, 0, NONE, 0},
    {FAULT_BUS, SIGBUS, -1, 0, NONE, 0},
    {FAULT_THREAD_SEGV, SIGSEGV, -1, 0, NONE, 0},
    {FAULT_THREADS_SEGV, SIGSEGV, -1, 0, NONE, 2},
    {FAULT_OUTPUT, 0, -1, 0, NONE, 0},
};

/* Whether the record of a crash is complete. SIGKILL leaves none. */
static bool is_recorded(const tn_host_header_t *header, int32_t signal) {
  if (signal == SIGKILL) return header->crash_kind == 0;
  return header->crash_kind == 1 && header->crash.signal == signal && header->crash.frames > 0;
}

/* Whether a worker ends as expected. Prints why not. */
static bool ends_as_expected(const expected_t *expected, uint32_t convention, bool is_guarded) {
  client_t client;
  int32_t kind = 0, value = 0;
  bool is_right = false;
  if (open_client(&client, is_guarded ? TN_HOST_GUARD : 0) &&
      load_library(&client, convention == TN_HOST_PACKED ? "faulty_packed" : "faulty") &&
      add_kernel(&client, convention, expected->fault)) {
    const int32_t status = run_kernel(&client, convention, expected->fault);
    const tn_host_header_t *header = (const tn_host_header_t *)(const void *)client.info.command;
    const bool goes_on = (expected->signal == 0 && expected->exit_code < 0) ||
                         (!is_guarded && expected->operand != NONE && status == TN_OK);
    if (goes_on) {
      is_right = status == TN_OK;
    } else if (status == TN_CLOSED && tn_host_reap(client.host, 5 * SECOND, &kind, &value) == TN_OK) {
      is_right = expected->signal != 0 ? kind == 2 && value == expected->signal && is_recorded(header, value)
                                       : kind == 1 && value == expected->exit_code;
      /* The heap may fault before the allocator finds the damage. */
      if (expected->fault == FAULT_HEAP) is_right = is_right || (kind == 2 && value == SIGSEGV);
      if (expected->operand != NONE && is_guarded)
        is_right = is_right && header->crash_operand == expected->operand && header->crash_offset == expected->offset &&
                   header->crash_pool == MEMORY && header->crash_target == KERNEL &&
                   (header->crash.access == expected->access || header->crash.access == 0);
    }
    if (!is_right)
      fprintf(stderr, "fault %d, convention %u, guarded %d: status %d, end %d %d, operand %u, memory %u, offset %lld, access %u: %.*s\n",
              expected->fault, convention, is_guarded, status, kind, value, header->crash_operand, header->crash_pool,
              (long long)header->crash_offset, header->crash.access, (int)(slot_of(&client)->length & 0x3fff), body_of(&client));
  } else {
    fprintf(stderr, "fault %d: the worker is not ready: %.*s\n", expected->fault, 200, client.info.command == NULL ? (uint8_t *)"" : body_of(&client));
  }
  close_client(&client);
  return is_right;
}

TEST(host_faults_of_every_kind_end_as_they_should_in_every_convention_and_mode) {
  static const uint32_t conventions[] = {TN_HOST_XLA, TN_HOST_UNIFIED, TN_HOST_PACKED};
  int wrong = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (size_t c = 0; c < sizeof conventions / sizeof *conventions; c++)
      for (int is_guarded = 0; is_guarded < 2; is_guarded++)
        wrong += !ends_as_expected(&all[i], conventions[c], is_guarded == 1);
  CHECK(wrong == 0);
  CHECK(tn_host_live() == 0 && tn_host_unreaped() == 0);
}
