/* The check of strings that a kernel of this process is about to read. */
#include "internal.h"
#include "read.h"

/* Whether a range contains all bytes of a string. The ranges are in the order of their addresses, and apart. */
static bool is_inside(const tn_tstring_range_t *ranges, uint64_t count, uint64_t start, uint64_t size) {
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (ranges[middle].start <= start) low = middle + 1;
    else high = middle;
  }
  return low > 0 && start <= ranges[low - 1].end && size <= ranges[low - 1].end - start;
}

/* Checks a VIEW or PREALLOC, which refers to memory of the tensor's owner. */
static int32_t check_pointer(const tn_tstring_tensor_t *t, const tn_tstring_range_t *ranges, uint64_t range_count, uint64_t index,
                             tn_tstring_fault_t *fault) {
  const bool is_tf = t->layout == TN_TSTRING_TF;
  const uint8_t *at = t->table + index * tn__struct_size(t->layout);
  const size_t size_word = tn__load_word(at), pointer = tn__load_word(at + (is_tf ? sizeof(size_t) : 8));
  const size_t owner = is_tf ? tn__load_word(at + 2 * sizeof(size_t)) : 0;
  uint32_t narrow;
  memcpy(&narrow, &size_word, sizeof narrow);
  TN__LOADED();
  const uint64_t size = is_tf ? tn_string__size_of_word(size_word) : tn__size_of_word32(narrow);
  if (owner != 0) return FAULT(POINTER, index, owner, 0);
  return size == 0 || is_inside(ranges, range_count, pointer, size) ? TN_OK : FAULT(POINTER, index, pointer, size);
}

int32_t tn_tstring_check_operand(const tn_tstring_tensor_t *tensor, const tn_tstring_range_t *ranges, uint64_t range_count,
                                 tn_tstring_fault_t *fault) {
  TN_TRY(tn__tstring_check_table(tensor, fault));
  TN_REQUIRE(tn__is_struct_layout(tensor->layout) && tensor->abi == TN__HOST_ABI,
             "the layout must be one of structs of this machine, got %d", tensor->layout);
  const tn_tstring_tensor_t t = *tensor;
  const size_t stride = tn__struct_size(t.layout);
  tn__span_t span;
  for (uint64_t i = 0; i < t.count; i++) {
    const uint8_t type = t.table[i * stride] & 3;
    TN__LOADED();
    if (type == TN_TSTRING_SMALL || type == TN_TSTRING_OFFSET || (t.flags & TN_TSTRING_FOLLOW))
      TN_TRY(tn__tstring_spans(&t, NULL, i, 1, &span, fault));
    else if (type == TN_TSTRING_LARGE)
      return FAULT(STRUCT_TYPE, i, type, 0);
    else
      TN_TRY(check_pointer(&t, ranges, range_count, i, fault));
  }
  return TN_OK;
}
