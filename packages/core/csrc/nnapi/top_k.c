/* TOPK_V2: the largest elements of each line, in order. */
#include <string.h>

#include "cancel.h"
#include "operations.h"

/* A line of the input, and the indices of its largest elements so far: a heap whose root is the last of them. */
typedef struct {
  const tn_nn_tensor_t *input;
  uint64_t start, size;
  int32_t *heap;
} line_t;

/* An index of the heap. Other processes may change the heap, so an index outside the line is read as 0. */
static uint64_t index_at(const line_t *line, uint64_t at) {
  int32_t index = ((const volatile int32_t *)line->heap)[at];
  return index >= 0 && (uint64_t)index < line->size ? (uint64_t)index : 0;
}

/* Returns whether element `a` comes before element `b`: the larger, then the first. NaN comes last. */
static int precedes(const line_t *line, uint64_t a, uint64_t b) {
  double x = tn_nn__load(line->input, line->start + a), y = tn_nn__load(line->input, line->start + b);
  if (x > y || x < y) return x > y;
  return (x != x) != (y != y) ? y != y : a < b;
}

/* Moves an element from the root down to its place in a heap of `count` elements. */
static void sink(const line_t *line, uint64_t count, uint64_t at, uint64_t element) {
  for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
    uint64_t index = index_at(line, child);
    if (child + 1 < count && precedes(line, index, index_at(line, child + 1))) index = index_at(line, ++child);
    if (!precedes(line, element, index)) break;
    line->heap[at] = (int32_t)index;
  }
  line->heap[at] = (int32_t)element;
}

/* The second output holds the indices. The last axis of the outputs is the number of elements. */
int32_t tn_nn__top_k(const tn_nn__call_t *call, const tn_nn_tensor_t *input, const tn_nn_tensor_t *output) {
  const tn_nn_tensor_t *indices = tn_nn__second_output(call);
  uint64_t size = input->dimensions[input->rank - 1], k = output->dimensions[output->rank - 1];
  size_t element = tn_nn__element_size(output);
  for (uint64_t first = 0, at = 0; first < input->count; first += size, at += k) {
    line_t line = {input, first, size, (int32_t *)indices->data + at};
    if (tn_nn__is_cancelled()) return TN_NN_CANCELLED;
    for (uint64_t i = 0; i < k; i++) line.heap[i] = (int32_t)i;
    for (uint64_t i = k / 2; i-- > 0;) sink(&line, k, i, index_at(&line, i));
    for (uint64_t i = k; i < size; i++) {
      if (i % 65536 == 0 && tn_nn__is_cancelled()) return TN_NN_CANCELLED;
      if (precedes(&line, i, index_at(&line, 0))) sink(&line, k, 0, i);
    }
    for (uint64_t i = k; i-- > 1;) {
      uint64_t last = index_at(&line, 0);
      sink(&line, i, 0, index_at(&line, i));
      line.heap[i] = (int32_t)last;
    }
    for (uint64_t i = 0; i < k; i++)
      memcpy((uint8_t *)output->data + (at + i) * element,
             (const uint8_t *)input->data + (first + index_at(&line, i)) * element, element);
  }
  return TN_NN_OK;
}
