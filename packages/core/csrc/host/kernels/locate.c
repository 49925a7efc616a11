#include "locate.h"

#include "guard_windows.h"
#include "client_memories.h"
#include "request.h"

/* The operand of the request in progress that begins at `start`, if this is its number, or that contains `address` if `start`
 * is 0. */
static bool find_operand(uint64_t address, uint64_t start, uint64_t number, tn__host_place_t *out) {
  const tn__request_t *request = tn__request_in_progress;
  if (request == NULL || request->addresses == NULL || (start != 0 && request->number != number)) return false;
  for (uint32_t i = 0; i < request->count; i++) {
    const uint64_t first = (uintptr_t)request->addresses[i];
    const bool is_this = start != 0 ? first == start : first != 0 && address - first < request->operands[i].length;
    if (!is_this) continue;
    *out = (tn__host_place_t){i, request->operands[i].memory, (int64_t)(address - first)};
    return true;
  }
  return false;
}

bool tn__host_locate(uint64_t address, tn__host_place_t *out) {
  const tn__window_t *window = tn__window_at(address);
  if (window != NULL) {
    const uint64_t data = (uintptr_t)window->data;
    if (find_operand(address, data, window->request, out)) return true;
    *out = (tn__host_place_t){UINT32_MAX, window->id, (int64_t)(address - data + window->range.offset)};
    return true;
  }
  if (find_operand(address, 0, 0, out)) return true;
  const tn__memory_t *memory = tn__memory_near(address, TN__NEAR);
  if (memory == NULL) return false;
  *out = (tn__host_place_t){UINT32_MAX, memory->id, (int64_t)(address - (uintptr_t)memory->address)};
  return true;
}
