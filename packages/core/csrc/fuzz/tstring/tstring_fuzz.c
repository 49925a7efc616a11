/* tstring/: untrusted tensors. Each input is a tensor: a byte for its layout, one for its ABI, two for the number of
 * its elements, then its bytes, in a block of the exact size. It is validated and then read in every way. Refused
 * tensors must not be read outside their block, and accepted tensors must convert to every layout with the same
 * strings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_tstring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tn_tstring_fault_t fault;

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "the tensor is wrong: %s\n", what);
  abort();
}

/* Converts a tensor and compares the result with the source. Returns whether the conversion succeeded. */
static int convert(const tn_tstring_tensor_t *source, int32_t layout, int32_t abi, int32_t form, int32_t is_inline) {
  tn_tstring_target_t target = {sizeof target, layout, abi, form, is_inline, 0, 0, 0, NULL, NULL};
  if (tn_tstring_measure(source, NULL, source->count, &target, &fault) != TN_OK) return 0;
  const uint64_t data_size = target.data_size;
  const size_t whole = (size_t)(target.table_size + data_size);
  uint8_t *block = malloc(whole > 0 ? whole : 1);
  if (block == NULL) return 0;
  target.table = block;
  target.data = block + target.table_size;
  require(tn_tstring_convert(source, NULL, source->count, &target, &fault) == TN_OK,
          "it was measured and not converted");
  require(target.data_size == data_size, "the data does not have the measured size");
  const int is_arrow = layout >= TN_TSTRING_ARROW32;
  const tn_tstring_tensor_t made = {sizeof made, layout, abi, TN_TSTRING_FOLLOW, source->count, target.table_size,
                                    is_arrow ? target.data_size : whole, block, is_arrow ? target.data : block};
  int8_t *order = malloc(source->count > 0 ? source->count : 1);
  if (order != NULL) {
    require(tn_tstring_compare(source, &made, order, &fault) == TN_OK, "a converted tensor cannot be read");
    for (uint64_t i = 0; i < source->count; i++) require(order[i] == 0, "a string changed");
  }
  tn_tstring_sums_t total;
  if (form == TN_TSTRING_AS_OFFSET)
    require(tn_tstring_validate(&made, 1, UINT64_MAX, &total, &fault) == TN_OK, "a converted tensor is not valid");
  free(order);
  if (form == TN_TSTRING_AS_BLOCK) tn_tstring_dealloc_all(block, source->count, layout);
  free(block);
  return 1;
}

static int convert_all(const tn_tstring_tensor_t *source) {
  int done = 1;
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_ARROW64; layout++) {
    const int32_t abi = layout >= TN_TSTRING_ARROW32 ? source->abi : (source->abi + layout) % 4;
    done &= convert(source, layout, abi, TN_TSTRING_AS_OFFSET, source->count % 2);
  }
  for (int32_t layout = TN_TSTRING_TF; layout <= TN_TSTRING_RFC24; layout++) {
    for (int32_t form = TN_TSTRING_AS_POINTER; form <= TN_TSTRING_AS_BORROWED; form++) {
      /* Pointers with another ABI than that of this machine are refused before anything is read. */
      const int32_t host = sizeof(void *) == 8 ? TN_TSTRING_LE64 : TN_TSTRING_LE32;
      done &= convert(source, layout, host, form, source->count % 2);
    }
  }
  return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  const size_t bytes = size - 4;
  uint8_t *block = malloc(bytes > 0 ? bytes : 1);
  if (block == NULL) return 0;
  memcpy(block, data + 4, bytes);
  const uint64_t count = (uint64_t)data[2] | (uint64_t)(data[3] & 1) << 8;
  tn_tstring_tensor_t tensor = {sizeof tensor, data[0] % 5, data[1] % 4, 0, count, bytes, bytes, block, block};
  tensor.flags = data[3] & 2 ? TN_TSTRING_WRITABLE : 0;
  tn_tstring_sums_t strict_sums = {0, 0}, sums = {0, 0};
  uint64_t index = 0;
  const int is_strict = tn_tstring_validate(&tensor, 1, bytes, &strict_sums, &fault) == TN_OK;
  const int is_valid = tn_tstring_validate(&tensor, 0, bytes, &sums, &fault) == TN_OK;
  require(!is_strict || is_valid, "a strictly valid tensor is not valid");
  require(!is_strict || strict_sums.total == sums.total, "the sums of the two validations differ");
  require(!is_valid || (sums.total <= bytes && sums.not_small <= sums.total), "the sums exceed the budget");
  /* The sum of sizes is limited, which limits the results too. */
  if (is_valid) require(convert_all(&tensor), "a valid tensor cannot be converted");
  uint32_t *hashes = malloc(4 * (count > 0 ? count : 1));
  if (hashes != NULL) {
    const int is_read = tn_tstring_hash(&tensor, 0, hashes, &fault) == TN_OK;
    require(is_read || !is_valid, "a valid tensor cannot be read");
    require(tn_tstring_find_invalid_utf8(&tensor, 0, &index, &fault) != TN_OK || index <= count, "an index");
    require(tn_tstring_find(&tensor, (const uint8_t *)"aa", 2, 0, &index, &fault) != TN_OK || index <= count,
            "an index");
  }
  free(hashes);
  free(block);
  return 0;
}
