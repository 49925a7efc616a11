#include "guard_windows.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define BUCKETS 512

static tn__window_t windows[TN__WINDOWS];
static uint16_t first_of[BUCKETS]; /* the index of the first window + 1; 0 for none */
static uint16_t next_of[TN__WINDOWS];
static size_t hand; /* where the search for a window to replace goes on */

static size_t bucket_of(const tn__memory_t *memory, const tn__range_t *range) {
  uint64_t hash = (uint64_t)memory->id * 0x9e3779b97f4a7c15u;
  hash = (hash ^ range->offset) * 0xff51afd7ed558ccdu;
  hash = (hash ^ range->length ^ (uint64_t)range->writes << 63) * 0xc4ceb9fe1a85ec53u;
  return (size_t)(hash >> 32) % BUCKETS;
}

static bool is_of(const tn__window_t *window, const tn__memory_t *memory, const tn__range_t *range) {
  return window->memory == memory && window->range.offset == range->offset && window->range.length == range->length &&
         window->range.writes == range->writes;
}

static void close_window(size_t index) {
  tn__window_t *window = &windows[index];
  uint16_t *place = &first_of[bucket_of(window->memory, &window->range)];
  while (*place != index + 1) place = &next_of[*place - 1];
  *place = next_of[index];
  munmap(window->start, window->size);
  *window = (tn__window_t){.memory = NULL};
}

/* A free window, or one that was not used lately, closed. TN__WINDOWS: the request uses all of them. */
static size_t make_room(const tn__request_t *request) {
  for (size_t passed = 0; passed < 2 * TN__WINDOWS; passed++) {
    const size_t index = hand;
    tn__window_t *window = &windows[index];
    hand = (hand + 1) % TN__WINDOWS;
    if (window->memory == NULL) return index;
    if (window->request == request->number) continue;
    if (!window->was_used) {
      close_window(index);
      return index;
    }
    window->was_used = false;
  }
  return TN__WINDOWS;
}

/* Reserves pages without access, and maps the pages of the range between them. False, and errno, if that failed. */
static bool map(tn__window_t *window, const tn__memory_t *memory, const tn__range_t *range) {
  /* Mappings begin at pages of the system; the margin is a multiple of them. */
  const uint64_t page = tn_page_size(), before = range->offset % page;
  const uint64_t bytes = range->length == 0 ? 0 : (before + range->length + page - 1) / page * page;
  const size_t size = (size_t)bytes + 2 * (size_t)TN__WINDOW_MARGIN + page;
  uint8_t *start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return false;
  uint8_t *pages = start + TN__WINDOW_MARGIN;
  const int rights = range->writes ? PROT_READ | PROT_WRITE : PROT_READ;
  if (bytes > 0 && mmap(pages, (size_t)bytes, rights, MAP_SHARED | MAP_FIXED, memory->descriptor,
                        (off_t)(range->offset - before)) == MAP_FAILED) {
    const int reason = errno;
    munmap(start, size);
    errno = reason;
    return false;
  }
  *window = (tn__window_t){memory, memory->id, *range, start, size, pages + before, 0, true};
  return true;
}

static tn__window_t *find(const tn__memory_t *memory, const tn__range_t *range) {
  for (uint16_t at = first_of[bucket_of(memory, range)]; at != 0; at = next_of[at - 1])
    if (is_of(&windows[at - 1], memory, range)) return &windows[at - 1];
  return NULL;
}

int32_t tn__window_open(tn__request_t *request, const tn__memory_t *memory, const tn__range_t *range, uint8_t **out) {
  tn__window_t *window = find(memory, range);
  if (window == NULL) {
    const size_t index = make_room(request);
    TN__CHECK(request, index < TN__WINDOWS, "a request in guard mode must have at most %d different operands", TN__WINDOWS);
    window = &windows[index];
    if (!map(window, memory, range))
      return tn__refuse(request, TN_SYSTEM, "%llu bytes of memory %u could not be mapped: %s",
                        (unsigned long long)range->length, memory->id, strerror(errno));
    uint16_t *first = &first_of[bucket_of(memory, range)];
    next_of[index] = *first;
    *first = (uint16_t)(index + 1);
  }
  window->request = request->number;
  window->was_used = true;
  *out = window->data;
  return TN_OK;
}

void tn__windows_close(const tn__memory_t *memory) {
  for (size_t i = 0; i < TN__WINDOWS; i++)
    if (windows[i].memory == memory) close_window(i);
}

const tn__window_t *tn__window_at(uint64_t address) {
  for (size_t i = 0; i < TN__WINDOWS; i++) {
    const uint64_t start = (uintptr_t)windows[i].start;
    if (windows[i].memory != NULL && address >= start && address - start < windows[i].size) return &windows[i];
  }
  return NULL;
}
