#include "string_results.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kept_values.h"
#include "tenon_tstring.h"

/* The layout of the strings of a result, or -1 for an operand, and for a result of numbers. */
static int32_t layout_of(const tn__request_t *request, uint32_t index) {
  const tn_host_operand_t *operand = &request->operands[index];
  if ((operand->flags & TN_HOST_READ_ONLY) != 0 || request->addresses[index] == NULL) return -1;
  switch (operand->flags & TN_HOST_STRINGS) {
    case TN_HOST_STRINGS_TF: return TN_TSTRING_TF;
    case TN_HOST_STRINGS_RFC16: return TN_TSTRING_RFC16;
    case TN_HOST_STRINGS_RFC24: return TN_TSTRING_RFC24;
    default: return -1;
  }
}

/* The strings of a result, whose pointers this process has written. */
static tn_tstring_tensor_t strings_of(const tn__request_t *request, uint32_t index, int32_t layout, uint32_t flags) {
  const uint64_t size = request->operands[index].length;
  const uint8_t *table = request->addresses[index];
  return (tn_tstring_tensor_t){
      .struct_size = sizeof(tn_tstring_tensor_t),
      .layout = layout,
      .abi = TN_TSTRING_LE64,
      .flags = flags,
      .count = size / (layout == TN_TSTRING_RFC16 ? 16 : 24),
      .table_size = size,
      .data_size = size,
      .table = table,
      .data = table,
  };
}

int tn__has_string_results(const tn__request_t *request) {
  for (uint32_t i = 0; i < request->count; i++)
    if (layout_of(request, i) >= 0) return 1;
  return 0;
}

void tn__clear_string_results(const tn__request_t *request) {
  for (uint32_t i = 0; i < request->count; i++)
    if (layout_of(request, i) >= 0) memset(request->addresses[i], 0, request->operands[i].length);
}

void tn__free_string_results(const tn__request_t *request) {
  for (uint32_t i = 0; i < request->count; i++) {
    const int32_t layout = layout_of(request, i);
    if (layout >= 0) tn_tstring_dealloc_all(request->addresses[i], strings_of(request, i, layout, 0).count, layout);
  }
}

/* An answer has so many records at most. */
#define MOST_RECORDS 512u

static bool is_packed(const tn_tstring_tensor_t *strings) {
  tn_tstring_sums_t sums;
  tn_tstring_fault_t fault = {.struct_size = sizeof fault};
  return tn_tstring_validate(strings, 0, UINT64_MAX, &sums, &fault) == TN_OK;
}

static int32_t refuse_damaged(tn__request_t *request, int32_t status) {
  return tn__refuse(request, status, "the strings that it wrote must be valid: %s", tn_last_error());
}

/* Copies the strings of a result into a part of a kept value, without pointers. */
static int32_t pack(tn__request_t *request, uint32_t index, int32_t layout, tn__kept_t *kept, tn_host_strings_t *record) {
  const tn_tstring_tensor_t strings = strings_of(request, index, layout, TN_TSTRING_FOLLOW);
  tn_tstring_fault_t fault = {.struct_size = sizeof fault};
  tn_tstring_target_t target = {.struct_size = sizeof target, .layout = layout, .abi = TN_TSTRING_LE64,
                                .form = TN_TSTRING_AS_OFFSET, .is_inline = 1};
  int32_t status = tn_tstring_measure(&strings, NULL, strings.count, &target, &fault);
  if (status != TN_OK) return refuse_damaged(request, status);
  const uint64_t size = target.table_size + target.data_size;
  uint8_t *bytes = malloc(size + 1);
  if (bytes == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for %llu bytes of strings", (unsigned long long)size);
  target.table = bytes;
  target.data = bytes + target.table_size;
  status = tn_tstring_convert(&strings, NULL, strings.count, &target, &fault);
  if (status != TN_OK) {
    free(bytes);
    return refuse_damaged(request, status);
  }
  tn_tstring_dealloc_all(request->addresses[index], strings.count, layout);
  const uint32_t part = tn__kept_add(kept, (tn__part_t){bytes, size, bytes, NULL});
  if (part == 0) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a result");
  *record = (tn_host_strings_t){index, part, size};
  return TN_OK;
}

/* Adds the records behind the answer of the kernel. */
static int32_t add_records(tn__request_t *request, tn__kept_t *kept, const tn_host_strings_t *records, uint32_t count) {
  tn_host_slot_t *slot = request->slot;
  const size_t size = count * sizeof *records;
  TN__CHECK(request, slot->value == 0 && slot->length + size + sizeof count <= TN_HOST_BODY_SIZE,
            "a kernel that writes strings must return little else, got an answer of %u bytes", slot->length);
  const uint32_t id = tn__keep(kept);
  if (id == 0) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a result");
  memcpy(request->reply + slot->length, records, size);
  memcpy(request->reply + slot->length + size, &count, sizeof count);
  slot->length += (uint32_t)(size + sizeof count);
  slot->value = id;
  slot->flags |= TN_HOST_HAS_STRINGS;
  return TN_OK;
}

int32_t tn__answer_strings(tn__request_t *request) {
  tn_host_strings_t records[MOST_RECORDS];
  uint32_t count = 0;
  tn__kept_t kept = {NULL, 0, 0};
  int32_t status = TN_OK;
  for (uint32_t i = 0; i < request->count && status == TN_OK; i++) {
    const int32_t layout = layout_of(request, i);
    if (layout < 0) continue;
    const tn_tstring_tensor_t strings = strings_of(request, i, layout, 0);
    if (is_packed(&strings)) continue;
    if (count == MOST_RECORDS)
      status = tn__refuse(request, TN_INVALID_ARGUMENT, "a kernel must have at most %u results of long strings", MOST_RECORDS);
    else
      status = pack(request, i, layout, &kept, &records[count++]);
  }
  if (status == TN_OK && count > 0) status = add_records(request, &kept, records, count);
  tn__kept_clear(&kept);
  return status;
}
