#include "client_memories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard_windows.h"
#include "id_table.h"

static tn__id_table_t memories;
static tn__memory_t *mapped[TN__MAPPED_MEMORIES];
static size_t mapped_count;
static size_t hand; /* where the search for a mapping to remove goes on */
static bool is_guarded;

void tn__memories_guard(bool is_on) { is_guarded = is_on; }

static void unmap(tn__memory_t *memory) {
  munmap(memory->address, (size_t)memory->byte_size);
  memory->address = NULL;
  memory->is_writable = false;
}

/* Unmaps a memory that was not used lately, and returns its place. TN__MAPPED_MEMORIES: this request uses all of them. */
static size_t make_room(const tn__request_t *request) {
  for (size_t passed = 0; passed < 2 * TN__MAPPED_MEMORIES; passed++) {
    const size_t place = hand;
    hand = (hand + 1) % TN__MAPPED_MEMORIES;
    tn__memory_t *memory = mapped[place];
    if (memory->request == request->number) continue;
    if (memory->was_used) {
      memory->was_used = false;
      continue;
    }
    unmap(memory);
    return place;
  }
  return TN__MAPPED_MEMORIES;
}

static int32_t map(tn__request_t *request, tn__memory_t *memory, bool writes) {
  const size_t place = mapped_count < TN__MAPPED_MEMORIES ? mapped_count : make_room(request);
  TN__CHECK(request, place < TN__MAPPED_MEMORIES, "a request must use at most %d memories", TN__MAPPED_MEMORIES);
  void *address = mmap(NULL, (size_t)memory->byte_size, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                       memory->descriptor, 0);
  const int reason = errno;
  if (address != MAP_FAILED) {
    memory->address = address;
    memory->is_writable = writes;
    mapped[place] = memory;
    mapped_count += place == mapped_count;
    return TN_OK;
  }
  /* The place may be one that was made free. */
  if (place < mapped_count) mapped[place] = mapped[--mapped_count];
  return tn__refuse(request, TN_SYSTEM, "memory %u of %llu bytes could not be mapped: %s", memory->id,
                    (unsigned long long)memory->byte_size, strerror(reason));
}

static int32_t map_plain(tn__request_t *request, tn__memory_t *memory, bool writes) {
  if (memory->address == NULL) {
    const int32_t status = map(request, memory, writes);
    if (status != TN_OK) return status;
  } else if (writes && !memory->is_writable) {
    if (mprotect(memory->address, (size_t)memory->byte_size, PROT_READ | PROT_WRITE) != 0)
      return tn__refuse(request, TN_SYSTEM, "memory %u cannot be written to: %s", memory->id, strerror(errno));
    memory->is_writable = true;
  }
  memory->was_used = true;
  memory->request = request->number;
  return TN_OK;
}

int32_t tn__reach(tn__request_t *request, const tn_host_operand_t *range, tn__reach_t how, uint8_t **out) {
  *out = NULL;
  TN__CHECK(request, (range->flags & ~(TN_HOST_READ_ONLY | TN_HOST_NULL | TN_HOST_STRINGS)) == 0,
            "the flags of an operand must be known, got %x", range->flags);
  if ((range->flags & TN_HOST_NULL) != 0) {
    TN__CHECK(request, range->length == 0, "a missing operand must not have bytes, got %llu",
              (unsigned long long)range->length);
    return TN_OK;
  }
  tn__memory_t *memory = tn__id_find(&memories, range->memory);
  if (memory == NULL) return tn__refuse(request, TN_NOT_FOUND, "there is no memory %u", range->memory);
  TN__CHECK(request, range->offset <= memory->byte_size && range->length <= memory->byte_size - range->offset,
            "an operand must lie within memory %u, which has %llu bytes, got offset %llu and length %llu", memory->id,
            (unsigned long long)memory->byte_size, (unsigned long long)range->offset, (unsigned long long)range->length);
  const bool writes = how == TN__REACH_OPERAND && (range->flags & TN_HOST_READ_ONLY) == 0;
  TN__CHECK(request, !writes || memory->may_write, "memory %u is read-only, so that no result can lie there", memory->id);
  if (is_guarded && how == TN__REACH_OPERAND)
    return tn__window_open(request, memory, &(tn__range_t){range->offset, range->length, writes}, out);
  const int32_t status = map_plain(request, memory, writes);
  if (status == TN_OK) *out = memory->address + range->offset;
  return status;
}

int32_t tn__reach_operands(tn__request_t *request) {
  for (uint32_t i = 0; i < request->count; i++) {
    uint8_t *address;
    const int32_t status = tn__reach(request, &request->operands[i], TN__REACH_OPERAND, &address);
    if (status != TN_OK) return status;
    request->addresses[i] = address;
  }
  return TN_OK;
}

static int32_t check_memory(tn__request_t *request, const tn_host_memory_t *head) {
  TN__CHECK(request, request->target != UINT32_MAX && tn__id_find(&memories, request->target) == NULL,
            "the id of a new memory must be new, got %u", request->target);
  TN__CHECK(request, head->byte_size > 0 && head->byte_size <= PTRDIFF_MAX && head->is_writable <= 1 && head->reserved == 0,
            "a memory must have 1 to %lld bytes, and known settings, got %llu bytes", (long long)PTRDIFF_MAX,
            (unsigned long long)head->byte_size);
  return TN_OK;
}

static int32_t add_memory(tn__request_t *request, const tn_host_memory_t *head, int32_t descriptor) {
  struct stat file;
  TN__CHECK(request, fstat(descriptor, &file) == 0 && file.st_size >= 0 && (uint64_t)file.st_size >= head->byte_size,
            "the descriptor of memory %u must be of at least %llu bytes", request->target,
            (unsigned long long)head->byte_size);
  tn__memory_t *memory = calloc(1, sizeof *memory);
  if (memory != NULL) {
    *memory = (tn__memory_t){.id = request->target, .descriptor = descriptor, .byte_size = head->byte_size};
    memory->may_write = head->is_writable != 0;
    if (tn__id_add(&memories, memory->id, memory)) return TN_OK;
    free(memory);
  }
  return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory to keep memory %u", request->target);
}

int32_t tn__serve_memory(tn__request_t *request) {
  tn_host_memory_t head;
  int32_t descriptor = -1;
  /* The descriptor is taken in any case, because the next one is that of another request. */
  int32_t status = tn_host_receive_memory(request->target, &descriptor);
  if (status != TN_OK)
    return tn__refuse(request, status, "the descriptor of memory %u was not received: %s", request->target,
                      tn_last_error());
  if (request->length == sizeof head) {
    memcpy(&head, request->body, sizeof head);
    status = check_memory(request, &head);
    if (status == TN_OK) status = add_memory(request, &head, descriptor);
  } else {
    status = tn__refuse(request, TN_INVALID_ARGUMENT, "a memory must be described by %zu bytes, got %zu", sizeof head,
                        request->length);
  }
  if (status != TN_OK) close(descriptor);
  return status;
}

static void remove_mapping(tn__memory_t *memory) {
  size_t place = 0;
  while (mapped[place] != memory) place++;
  mapped[place] = mapped[--mapped_count];
  unmap(memory);
}

int32_t tn__serve_release_memory(tn__request_t *request) {
  tn__memory_t *memory = tn__id_remove(&memories, request->target);
  if (memory == NULL) return tn__refuse(request, TN_NOT_FOUND, "there is no memory %u", request->target);
  tn__windows_close(memory);
  if (memory->address != NULL) remove_mapping(memory);
  close(memory->descriptor);
  free(memory);
  return TN_OK;
}

const tn__memory_t *tn__memory_near(uint64_t address, uint64_t distance) {
  for (size_t i = 0; i < mapped_count; i++) {
    const tn__memory_t *memory = mapped[i];
    const uint64_t start = (uintptr_t)memory->address, end = start + memory->byte_size;
    if (address + distance >= start && address < end + distance) return memory;
  }
  return NULL;
}
