/* host/kernels/client_memories.c, guard_windows.c, locate.c, and the checks of serve.c. */
#include <sys/mman.h>
#include <unistd.h>

#include "host/kernels/guard_windows.h"
#include "host/kernels/locate.h"
#include "host/kernels/client_memories.h"
#include "host/kernels/request.h"
#include "support.h"

/* Whether the system can read, or write, a byte here: without a fault. */
static bool can_read(const void *address) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) abort();
  const bool can = write(pipe_ends[1], address, 1) == 1;
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return can;
}

static bool can_write(void *address) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) abort();
  const uint8_t byte = can_read(address) ? *(uint8_t *)address : 0;
  const bool can = write(pipe_ends[1], &byte, 1) == 1 && read(pipe_ends[0], address, 1) == 1;
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return can;
}

/* A request outside of tn__host_serve(). */
static tn__request_t request_of(void) {
  static uint64_t last = (uint64_t)1 << 40;
  return (tn__request_t){.number = ++last, .slot = slot_zero(), .reply = body_zero(), .operation = TN_HOST_RUN};
}

/* Reaches an operand in a request of its own. Null if that was refused. */
static uint8_t *reach(tn_host_operand_t operand) {
  tn__request_t request = request_of();
  uint8_t *address = NULL;
  return tn__reach(&request, &operand, TN__REACH_OPERAND, &address) == TN_OK ? address : NULL;
}

TEST(host_memory_is_mapped_at_first_use_and_writable_only_for_a_result) {
  const uint32_t id = new_id();
  uint8_t *bytes = share(id, 10000, true);
  CHECK(tn__memory_near(0, 0) == NULL);
  memcpy(bytes + 100, "hello", 5);
  uint8_t *address = reach((tn_host_operand_t)READ(id, 100, 5));
  CHECK(address != NULL && memcmp(address, "hello", 5) == 0);
  CHECK(can_read(address) && !can_write(address));
  uint8_t *again = reach((tn_host_operand_t)WRITE(id, 100, 5));
  CHECK(again == address && can_write(address));
  address[0] = 'j';
  CHECK(bytes[100] == 'j');
  unshare(id, bytes, 10000);
  CHECK(!can_read(address));
}

TEST(host_memory_refuses_ranges_outside_of_it) {
  const uint32_t id = new_id();
  uint8_t *bytes = share(id, 4096, true);
  const tn_host_operand_t wrong[] = {READ(id, 4096, 1),         READ(id, 0, 4097),          READ(id, UINT64_MAX, 2),
                                     READ(id, 1, UINT64_MAX),   READ(id, UINT64_MAX, UINT64_MAX), READ(id + 1, 0, 1),
                                     {id, 16, 0, 1},            {id, TN_HOST_NULL, 0, 1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK(reach(wrong[i]) == NULL);
    CHECK(slot_zero()->error == TN_HOST_REQUEST_ERROR);
  }
  CHECK(reach((tn_host_operand_t)READ(id, 4096, 0)) != NULL);
  CHECK(reach((tn_host_operand_t)READ(id, 0, 4096)) != NULL);
  unshare(id, bytes, 4096);
}

TEST(host_memory_refuses_writes_where_the_client_does_not_allow_them) {
  const uint32_t id = new_id();
  uint8_t *bytes = share(id, 4096, false);
  CHECK(reach((tn_host_operand_t)READ(id, 0, 8)) != NULL);
  CHECK(reach((tn_host_operand_t)WRITE(id, 0, 8)) == NULL && body_has(slot_zero(), "read-only"));
  unshare(id, bytes, 4096);
}

TEST(host_memory_requests_are_checked) {
  const uint32_t id = new_id();
  tn_host_memory_t memory = {.byte_size = 4096};
  /* Without a descriptor. */
  CHECK(is_refused(ask(TN_HOST_MEMORY, id, &memory, sizeof memory), TN_CLOSED, "was not received"));
  /* A file that is too short, a body that is too short, no bytes, unknown settings, an id that is taken. */
#define REFUSED(change, size, text)                                                                    \
  do {                                                                                                 \
    tn_host_memory_t changed = memory;                                                                 \
    changed.change;                                                                                    \
    const int file = memfd_create("test", MFD_CLOEXEC);                                                \
    CHECK(ftruncate(file, 4096) == 0);                                                                 \
    send_descriptor(file);                                                                             \
    CHECK(is_refused(ask(TN_HOST_MEMORY, id, &changed, size), TN_INVALID_ARGUMENT, text));             \
    CHECK(close(file) == -1); /* the worker has closed it */                                           \
  } while (0)
  REFUSED(byte_size = 4097, sizeof memory, "at least 4097 bytes");
  REFUSED(byte_size = 4096, 8, "described by 16 bytes");
  REFUSED(byte_size = 0, sizeof memory, "1 to");
  REFUSED(byte_size = UINT64_MAX, sizeof memory, "1 to");
  REFUSED(is_writable = 2, sizeof memory, "1 to");
  uint8_t *bytes = share(id, 4096, true);
  REFUSED(byte_size = 4096, sizeof memory, "must be new");
  unshare(id, bytes, 4096);
  CHECK(is_refused(ask(TN_HOST_RELEASE_MEMORY, id, NULL, 0), TN_NOT_FOUND, "no memory"));
}

/* The mappings of memories, those of the client included. */
static int count_mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  int count = 0;
  if (maps == NULL) abort();
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, "memfd:test") != NULL;
  fclose(maps);
  return count;
}

TEST(host_memories_above_the_limit_take_the_place_of_those_not_used_lately) {
  enum { COUNT = TN__MAPPED_MEMORIES + 40 };
  static uint32_t ids[COUNT];
  static uint8_t *bytes[COUNT];
  for (int i = 0; i < COUNT; i++) {
    bytes[i] = share(ids[i] = new_id(), 4096, true);
    bytes[i][0] = (uint8_t)i;
  }
  /* More than the limit in turn, four times, with one that is used again and again. */
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < COUNT; i++) {
      uint8_t *address = reach((tn_host_operand_t)WRITE(ids[i], 0, 16));
      CHECK(address != NULL && address[0] == (uint8_t)i);
      uint8_t *favourite = reach((tn_host_operand_t)READ(ids[0], 0, 16));
      CHECK(favourite != NULL && favourite[0] == 0);
    }
  }
  CHECK(count_mappings() == COUNT + TN__MAPPED_MEMORIES);
  /* One request with all of them is refused, and leaves nothing broken. */
  tn__request_t request = request_of();
  int reached = 0;
  uint8_t *address;
  while (reached < COUNT && tn__reach(&request, &(tn_host_operand_t)READ(ids[reached], 0, 1), TN__REACH_OPERAND, &address) == TN_OK)
    reached++;
  CHECK(reached == TN__MAPPED_MEMORIES && body_has(slot_zero(), "at most 1024 memories"));
  for (int i = 0; i < COUNT; i++) {
    address = reach((tn_host_operand_t)READ(ids[i], 0, 1));
    CHECK(address != NULL && address[0] == (uint8_t)i);
  }
  for (int i = 0; i < COUNT; i++) unshare(ids[i], bytes[i], 4096);
}

TEST(host_guard_windows_have_exact_pages_and_rights) {
  const uint32_t id = new_id();
  const size_t page = tn_page_size();
  uint8_t *bytes = share(id, 8 * page, true);
  guard(true);
  memcpy(bytes + 2 * page - 64, "operand", 7);
  uint8_t *x = reach((tn_host_operand_t)READ(id, 2 * page - 64, 64));
  uint8_t *y = reach((tn_host_operand_t)WRITE(id, 3 * page - 64, 64));
  CHECK(x != NULL && y != NULL && memcmp(x, "operand", 7) == 0);
  CHECK(can_read(x) && !can_write(x) && can_write(y) && can_write(y + 63));
  CHECK(!can_read(x + 64) && !can_read(y + 64) && !can_read(x - page) && !can_read(y + TN__WINDOW_MARGIN));
  y[0] = 'y';
  CHECK(bytes[3 * page - 64] == 'y');
  /* The same range again is the same window; other rights are another one. */
  CHECK(reach((tn_host_operand_t)READ(id, 2 * page - 64, 64)) == x);
  CHECK(reach((tn_host_operand_t)WRITE(id, 2 * page - 64, 64)) != x);
  CHECK(reach((tn_host_operand_t)READ(id, 8 * page, 0)) != NULL);
  unshare(id, bytes, 8 * page);
  CHECK(!can_read(x) && !can_read(y));
  guard(false);
}

TEST(host_guard_windows_of_the_last_256_ranges_are_kept) {
  const uint32_t id = new_id();
  uint8_t *bytes = share(id, 1 << 20, true);
  guard(true);
  static uint8_t *first[300];
  for (uint64_t i = 0; i < 300; i++) {
    bytes[i * 64] = (uint8_t)i;
    first[i] = reach((tn_host_operand_t)WRITE(id, i * 64, 64));
    CHECK(first[i] != NULL && first[i][0] == (uint8_t)i);
  }
  for (uint64_t i = 100; i < 300; i++) CHECK(reach((tn_host_operand_t)WRITE(id, i * 64, 64)) == first[i]);
  for (uint64_t i = 0; i < 300; i++) {
    const uint8_t *address = reach((tn_host_operand_t)READ(id, i * 64, 64));
    CHECK(address != NULL && address[0] == (uint8_t)i);
  }
  tn__request_t request = request_of();
  uint64_t reached = 0;
  uint8_t *address;
  while (reached < 300 && tn__reach(&request, &(tn_host_operand_t)READ(id, reached * 64, 64), TN__REACH_OPERAND, &address) == TN_OK)
    reached++;
  CHECK(reached == TN__WINDOWS && body_has(slot_zero(), "at most 256"));
  unshare(id, bytes, 1 << 20);
  guard(false);
}

static bool is_at(const void *address, uint32_t operand, uint32_t memory, int64_t offset) {
  tn__host_place_t place = {0, 0, 0};
  const bool found = tn__host_locate((uintptr_t)address, &place);
  if (found && place.operand == operand && place.memory == memory && place.offset == offset) return true;
  fprintf(stderr, "found %d: operand %u, memory %u, offset %lld\n", found, place.operand, place.memory, (long long)place.offset);
  return false;
}

TEST(host_locate_names_operands_memories_and_offsets) {
  const uint32_t id = new_id();
  const size_t page = tn_page_size();
  uint8_t *bytes = share(id, 8 * page, true);
  const tn_host_operand_t operands[2] = {READ(id, page - 64, 64), WRITE(id, 2 * page - 64, 64)};
  void *addresses[2] = {NULL, NULL};
  tn__request_t request = request_of();
  request.count = 2;
  request.operands = operands;
  request.addresses = addresses;
  tn__host_place_t place;
  for (int is_guarded = 0; is_guarded < 2; is_guarded++) {
    guard(is_guarded == 1);
    request.number = request_of().number;
    tn__request_in_progress = &request;
    CHECK(tn__reach_operands(&request) == TN_OK);
    uint8_t *x = addresses[0], *y = addresses[1];
    CHECK(is_at(x + 12, 0, id, 12) && is_at(y, 1, id, 0) && is_at(y + 63, 1, id, 63));
    if (is_guarded) {
      CHECK(is_at(y + 64, 1, id, 64) && is_at(x - 4100, 0, id, -4100) && is_at(y + page, 1, id, (int64_t)page));
      /* The next request does not use the window of x. */
      request.number = request_of().number;
      CHECK(is_at(x + 12, UINT32_MAX, id, (int64_t)page - 64 + 12));
    } else {
      CHECK(is_at(y + 64, UINT32_MAX, id, 2 * (int64_t)page));
      CHECK(is_at(x - (page - 64) - TN__NEAR, UINT32_MAX, id, -TN__NEAR));
      CHECK(is_at(x - (page - 64) + 8 * page + TN__NEAR - 1, UINT32_MAX, id, 8 * (int64_t)page + TN__NEAR - 1));
    }
    tn__request_in_progress = NULL;
  }
  CHECK(!tn__host_locate(0, &place) && !tn__host_locate(UINT64_MAX, &place) && !tn__host_locate(0xdead000, &place));
  guard(false);
  unshare(id, bytes, 8 * page);
}

TEST(host_requests_are_checked) {
  memset(slot_zero() + 1, 0, TN_HOST_OPERANDS * sizeof(tn_host_operand_t));
  CHECK(is_refused(ask(0, 0, NULL, 0), TN_INVALID_ARGUMENT, "must be known, got 0"));
  CHECK(is_refused(ask(99, 0, NULL, 0), TN_INVALID_ARGUMENT, "must be known, got 99"));
  for (uint32_t operation = TN_HOST_RELEASE_KERNEL; operation <= TN_HOST_RELEASE_VALUE; operation++)
    if (operation != TN_HOST_MEMORY) CHECK(is_refused(ask(operation, 4000000, NULL, 0), TN_NOT_FOUND, "there is no"));
#define SERVE(text, ...) \
  CHECK(is_refused(serve((tn_host_slot_t){.operation = TN_HOST_RUN, __VA_ARGS__}, NULL, 0, NULL), TN_INVALID_ARGUMENT, text))
  SERVE("flags of a request", .flags = 4);
  SERVE("at most 16384 bytes", .length = 16385);
  SERVE("at most 16384 bytes", .length = UINT32_MAX);
  SERVE("at most 40 operands", .operands = 41);
  SERVE("at most 40 operands", .operands = UINT32_MAX);
  SERVE("at most 40 operands", .operands = 40, .flags = TN_HOST_LONG_BODY);
  SERVE("at most 65536 operands", .operands = 65537, .flags = TN_HOST_MANY);
  SERVE("at most 1 GiB", .operands = 0, .length = UINT32_MAX, .flags = TN_HOST_LONG_BODY);
  SERVE("must have 24 bytes, got 0", .operands = 1, .flags = TN_HOST_MANY);
}
