/* Memory that ends at a protected page, and the quarantine of such memory after it was freed. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/lock.h"
#include "guard_report.h"

#define PATTERN 0xa7

/* The most blocks in the quarantine, and the most bytes of address space. Its pages take no memory. */
#define MOST_BLOCKS 1024
#define MOST_BYTES ((size_t)1 << 36)

struct tn_guarded {
  char *pages;
  size_t room; /* the size of the pages before the protected one */
  char *memory;
  size_t byte_size;
  char *watched; /* the pattern fills the pages from here to the memory, and from its end on */
};

/* The blocks whose pages are mapped, also those in the quarantine. */
static _Atomic uint64_t mapped;

typedef struct {
  char *pages;
  size_t room;
} freed_t;

static tn__lock_t lock = TN__LOCK;
static freed_t quarantine[MOST_BLOCKS];
static size_t first, count, bytes;

static char *end_of(const tn_guarded_t *block) { return block->pages + block->room; }

static char *behind(const tn_guarded_t *block) { return block->memory + block->byte_size; }

static int32_t open_block(size_t byte_size, size_t byte_alignment, tn_guarded_t *block) {
  const size_t page = tn_page_size(), size = byte_size == 0 ? 1 : byte_size;
  const size_t gap = byte_alignment > page ? byte_alignment - page : 0;
  if (size > PTRDIFF_MAX - gap - 2 * page) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: %zu bytes", byte_size);
  block->room = (size + gap + page - 1) / page * page;
  block->byte_size = byte_size;
  TN_TRY(tn_pages_open(block->room, (void **)&block->pages));
  const uintptr_t last = (uintptr_t)(end_of(block) - size);
  block->memory = end_of(block) - size - last % byte_alignment;
  block->watched = (size_t)(block->memory - block->pages) > page ? block->memory - page : block->pages;
  memset(block->watched, PATTERN, (size_t)(block->memory - block->watched));
  memset(behind(block), PATTERN, (size_t)(end_of(block) - behind(block)));
  return TN_OK;
}

static void unmap(char *pages, size_t room) {
  tn_guard_report_remove(pages);
  if (tn_pages_close(pages, room) == TN_OK) atomic_fetch_sub(&mapped, 1);
}

int32_t tn_guarded_open(size_t byte_size, size_t byte_alignment, uint64_t most, const char *name, size_t name_length,
                        uint64_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  TN_REQUIRE(byte_alignment != 0 && (byte_alignment & (byte_alignment - 1)) == 0,
             "byte_alignment must be a power of two, got %zu", byte_alignment);
  /* Counted first, so that threads cannot exceed the limit together. */
  const uint64_t others = atomic_fetch_add(&mapped, 1);
  tn_guarded_t *block = NULL;
  int32_t status = TN_OK;
  if (others >= most)
    status = tn__fail(TN_OUT_OF_MEMORY, "the process has %llu guarded blocks already", (unsigned long long)others);
  else if ((block = malloc(sizeof *block)) == NULL)
    status = tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot describe a guarded block");
  else
    status = open_block(byte_size, byte_alignment, block);
  if (status != TN_OK) {
    atomic_fetch_sub(&mapped, 1);
    free(block);
    return status;
  }
  status = tn_guard_report_add(block->pages, block->room, (size_t)(block->memory - block->pages), byte_size, name,
                               name_length);
  if (status != TN_OK) {
    unmap(block->pages, block->room);
    free(block);
    return status;
  }
  out[0] = (uint64_t)(uintptr_t)block;
  out[1] = (uint64_t)(uintptr_t)block->memory;
  return TN_OK;
}

/* Counts the bytes that are not the pattern, finds the first, and restores the pattern. */
static uint64_t changed(char *from, const char *end, char **found) {
  uint64_t number = 0;
  for (char *at = from; at < end; at++) {
    if (*(unsigned char *)at == PATTERN) continue;
    if (number++ == 0) *found = at;
    *(unsigned char *)at = PATTERN;
  }
  return number;
}

void tn_guarded_check(const tn_guarded_t *block, uint64_t *out) {
  char *found = behind(block);
  out[0] = changed(block->watched, block->memory, &found);
  out[1] = out[0] == 0 ? 0 : (uint64_t)(block->memory - found);
  out[2] = changed(behind(block), end_of(block), &found);
  out[3] = out[2] == 0 ? 0 : (uint64_t)(found - behind(block));
}

void tn_guarded_free(tn_guarded_t *block) {
  uint64_t damage[4];
  tn_guarded_check(block, damage);
  if (damage[0] + damage[2] != 0) tn__guard_report_damage(block->pages, damage[0], damage[2]);
  const freed_t freed = {block->pages, block->room};
  free(block);
  /* Later uses of the memory fault. */
  if (tn_pages_protect(freed.pages, freed.room) != TN_OK) return;
  tn__lock(&lock);
  while (count == MOST_BLOCKS || (count > 0 && bytes > MOST_BYTES - (freed.room < MOST_BYTES ? freed.room : MOST_BYTES))) {
    const freed_t oldest = quarantine[first];
    first = (first + 1) % MOST_BLOCKS;
    count--;
    bytes -= oldest.room;
    unmap(oldest.pages, oldest.room);
  }
  quarantine[(first + count++) % MOST_BLOCKS] = freed;
  bytes += freed.room;
  tn__unlock(&lock);
}

uint64_t tn_guarded_count(void) { return atomic_load(&mapped); }
