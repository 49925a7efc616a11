/* Readers of all layouts. Every word is checked before it is used. */
#pragma once

#include "internal.h"

/* Reads the spans of `n` elements (at most TN__BLOCK): those of `selection`, or `n` from `first` on. Every word is
 * checked before it is used. Spans lie inside the tensor's data, or at a pointer that FOLLOW allows. */
int32_t tn__tstring_spans(const tn_tstring_tensor_t *tensor, const uint32_t *selection, uint64_t first, size_t n,
                          tn__span_t *spans, tn_tstring_fault_t *fault);

/* The table of a layout: the bytes for each element, and those besides. */
typedef struct {
  uint64_t stride, extra;
} tn__table_t;

extern const tn__table_t tn__tstring_tables[];

int32_t tn__tstring_check_layout(int32_t layout, int32_t abi);

/* Checks the layout, the ABI and the size of the table of a tensor. */
int32_t tn__tstring_check_table(const tn_tstring_tensor_t *tensor, tn_tstring_fault_t *fault);

/* Fills the fault and returns TN_INVALID_ARGUMENT. */
int32_t tn__tstring_fault(tn_tstring_fault_t *fault, int32_t check, uint64_t index, uint64_t value, uint64_t limit);

#define FAULT(check, index, value, limit) tn__tstring_fault(fault, TN_TSTRING_CHECK_##check, index, value, limit)
