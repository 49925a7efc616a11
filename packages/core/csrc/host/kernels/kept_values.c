#include "kept_values.h"

#include <stdlib.h>
#include <string.h>

#include "id_table.h"
#include "client_memories.h"

static tn__id_table_t values;
static uint32_t last_id;

static void free_part(const tn__part_t *part) {
  free(part->memory);
  if (part->object != NULL) tn__ffi.TVMFFIObjectDecRef(part->object);
}

void tn__kept_clear(tn__kept_t *kept) {
  for (size_t i = 0; i < kept->count; i++) free_part(&kept->parts[i]);
  free(kept->parts);
  *kept = (tn__kept_t){NULL, 0, 0};
}

static bool reserve(tn__kept_t *kept) {
  if (kept->count + 1 < kept->capacity) return true;
  const size_t capacity = kept->capacity == 0 ? 8 : 2 * kept->capacity;
  tn__part_t *parts = realloc(kept->parts, capacity * sizeof *parts);
  if (parts == NULL) return false;
  kept->parts = parts;
  kept->capacity = capacity;
  return true;
}

uint32_t tn__kept_add(tn__kept_t *kept, tn__part_t part) {
  if (kept->count >= UINT32_MAX || !reserve(kept)) {
    free_part(&part);
    return 0;
  }
  if (kept->count == 0) kept->parts[kept->count++] = (tn__part_t){NULL, 0, NULL, NULL};
  kept->parts[kept->count] = part;
  return (uint32_t)kept->count++;
}

uint32_t tn__keep(tn__kept_t *kept) {
  tn__kept_t *copy = malloc(sizeof *copy);
  do last_id++;
  while (last_id == 0 || tn__id_find(&values, last_id) != NULL);
  if (copy == NULL || !tn__id_add(&values, last_id, copy)) {
    free(copy);
    return 0;
  }
  *copy = *kept;
  *kept = (tn__kept_t){NULL, 0, 0};
  return last_id;
}

int32_t tn__answer_long(tn__request_t *request, tn__kept_t *kept, uint8_t *bytes, uint64_t size) {
  /* Part 0 exists as soon as there is another one. */
  const bool has_place = kept->count > 0 || reserve(kept);
  if (has_place && kept->count == 0) kept->count = 1;
  if (has_place) kept->parts[0] = (tn__part_t){bytes, size, bytes, NULL};
  else free(bytes);
  const uint32_t id = has_place ? tn__keep(kept) : 0;
  if (id == 0) {
    tn__kept_clear(kept);
    return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a result");
  }
  memcpy(request->reply, &size, sizeof size);
  request->slot->length = sizeof size;
  request->slot->flags = TN_HOST_LONG_BODY;
  request->slot->value = id;
  return TN_OK;
}

int32_t tn__serve_fetch(tn__request_t *request) {
  const tn__kept_t *kept = tn__id_find(&values, request->target);
  if (kept == NULL) return tn__refuse(request, TN_NOT_FOUND, "there is no kept value %u", request->target);
  uint32_t index = UINT32_MAX;
  if (request->length == sizeof index) memcpy(&index, request->body, sizeof index);
  TN__CHECK(request, index < kept->count, "a fetch must name one of the %zu parts of its value", kept->count);
  const tn__part_t *part = &kept->parts[index];
  TN__CHECK(request, request->count == 1 && request->operands[0].length == part->size &&
                         (request->operands[0].flags & (TN_HOST_NULL | TN_HOST_READ_ONLY)) == 0,
            "a fetch must have one writable operand of %zu bytes", part->size);
  const int32_t status = tn__reach_operands(request);
  if (status == TN_OK && part->size > 0) memcpy(request->addresses[0], part->bytes, part->size);
  return status;
}

int32_t tn__serve_release_value(tn__request_t *request) {
  tn__kept_t *kept = tn__id_remove(&values, request->target);
  if (kept == NULL) return tn__refuse(request, TN_NOT_FOUND, "there is no kept value %u", request->target);
  tn__kept_clear(kept);
  free(kept);
  return TN_OK;
}
