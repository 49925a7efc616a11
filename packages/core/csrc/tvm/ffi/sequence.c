/* The global functions over sequences: Array, which does not change after it is created, and List, which is changed
 * in place. Both are a cell over values. */
#include <stdlib.h>

#include "internal.h"
#include "object.h"

typedef struct {
  TVMFFIObject head;
  TVMFFISeqCell cell;
  TVMFFIAny items[];
} sequence_t;

static TVMFFIAny *items_of(const sequence_t *sequence) { return sequence->cell.data; }

static void sequence_destroy(sequence_t *self) {
  for (int64_t i = 0; i < self->cell.size; i++) tn__clear(&items_of(self)[i]);
  if (self->cell.data_deleter != NULL) self->cell.data_deleter(self->cell.data);
}
TN_DELETER(sequence_deleter, sequence_destroy)

/* Copies borrowed values into a new sequence: the items lie inside an Array, and outside a List. */
int tn__sequence_make(int32_t type_index, const TVMFFIAny *values, int32_t count, TVMFFIAny *result) {
  bool is_list = type_index == kTVMFFIList;
  size_t bytes = (size_t)count * sizeof(TVMFFIAny);
  sequence_t *sequence = tn__object_new(sizeof *sequence + (is_list ? 0 : bytes), type_index, sequence_deleter);
  if (sequence == NULL) return tn__no_memory();
  sequence->cell.data = is_list ? malloc(bytes == 0 ? sizeof(TVMFFIAny) : bytes) : sequence->items;
  sequence->cell.data_deleter = is_list ? free : NULL;
  sequence->cell.capacity = is_list && count == 0 ? 1 : count;
  int status = sequence->cell.data == NULL ? tn__no_memory() : 0;
  for (int32_t i = 0; status == 0 && i < count; i++) {
    status = TVMFFIAnyViewToOwnedAny(&values[i], &items_of(sequence)[i]);
    if (status == 0) sequence->cell.size = i + 1;
  }
  if (status == 0)
    *result = tn__object(sequence);
  else
    tn__release(sequence);
  return status;
}

static int make(const tn__call_t *call) {
  return tn__sequence_make(call->type_index, call->args, call->num_args, call->result);
}

static sequence_t *sequence_of(const tn__call_t *call) { return (sequence_t *)(void *)call->args[0].v_obj; }

/* Reads the second argument, an index that must be below `end`. */
static int read_index(const tn__call_t *call, int64_t end, int64_t *index) {
  if (tn__argument_int(call, 1, index) != 0) return -1;
  if (*index >= 0 && *index < end) return 0;
  return tn__raise("IndexError", "Index %lld out of bounds %lld", (long long)*index,
                   (long long)sequence_of(call)->cell.size);
}

/* The address of the item that the second argument selects, or null with an error raised. */
static TVMFFIAny *item_of(const tn__call_t *call) {
  int64_t index;
  if (read_index(call, sequence_of(call)->cell.size, &index) != 0) return NULL;
  return items_of(sequence_of(call)) + index;
}

static int get_item(const tn__call_t *call) {
  const TVMFFIAny *item = item_of(call);
  return item == NULL ? -1 : tn__give(call, tn__copy(item));
}

static int size_of(const tn__call_t *call) { return tn__give(call, tn__int(sequence_of(call)->cell.size)); }

static int contains(const tn__call_t *call) {
  const sequence_t *sequence = sequence_of(call);
  bool found = false;
  for (int64_t i = 0; i < sequence->cell.size && !found; i++) found = tn__equal(&items_of(sequence)[i], &call->args[1]);
  return tn__give(call, tn__bool(found));
}

static int list_set(const tn__call_t *call) {
  TVMFFIAny value, *item = item_of(call);
  if (item == NULL || TVMFFIAnyViewToOwnedAny(&call->args[2], &value) != 0) return -1;
  TVMFFIAny old = *item;
  *item = value;
  tn__clear(&old);
  return 0;
}

/* Makes room for `capacity` items, more than there is. */
static int reserve(sequence_t *list, int64_t capacity) {
  TVMFFIAny *items = malloc((size_t)capacity * sizeof *items);
  if (items == NULL) return tn__no_memory();
  if (list->cell.size > 0) memcpy(items, list->cell.data, (size_t)list->cell.size * sizeof *items);
  if (list->cell.data_deleter != NULL) list->cell.data_deleter(list->cell.data);
  list->cell.data = items;
  list->cell.capacity = capacity;
  list->cell.data_deleter = free; /* a list that C++ code created has another deleter */
  return 0;
}

static int grow(sequence_t *list) {
  if (list->cell.size < list->cell.capacity) return 0;
  return reserve(list, list->cell.capacity < 4 ? 4 : list->cell.capacity * 2);
}

/* Inserts an owned copy of an item. */
static int insert(sequence_t *list, int64_t index, const TVMFFIAny *item) {
  TVMFFIAny value;
  if (TVMFFIAnyViewToOwnedAny(item, &value) != 0) return -1;
  if (grow(list) != 0) {
    tn__clear(&value);
    return -1;
  }
  TVMFFIAny *place = items_of(list) + index;
  memmove(place + 1, place, (size_t)(list->cell.size - index) * sizeof *place);
  *place = value;
  list->cell.size++;
  return 0;
}

static int list_append(const tn__call_t *call) {
  return insert(sequence_of(call), sequence_of(call)->cell.size, &call->args[1]);
}

static int list_insert(const tn__call_t *call) {
  int64_t index;
  if (read_index(call, sequence_of(call)->cell.size + 1, &index) != 0) return -1;
  return insert(sequence_of(call), index, &call->args[2]);
}

/* Removes an item; the caller owns it. */
static TVMFFIAny take(sequence_t *list, TVMFFIAny *item) {
  TVMFFIAny value = *item;
  list->cell.size--;
  memmove(item, item + 1, (size_t)(items_of(list) + list->cell.size - item) * sizeof *item);
  return value;
}

static int list_pop(const tn__call_t *call) {
  TVMFFIAny *item = item_of(call);
  return item == NULL ? -1 : tn__give(call, take(sequence_of(call), item));
}

static int list_erase(const tn__call_t *call) {
  TVMFFIAny *item = item_of(call);
  if (item == NULL) return -1;
  TVMFFIAny old = take(sequence_of(call), item);
  tn__clear(&old);
  return 0;
}

/* Reads the second and third argument, the range of items from `start` to before `stop`. */
static int read_range(const tn__call_t *call, int64_t *start, int64_t *stop) {
  const int64_t size = sequence_of(call)->cell.size;
  if (tn__argument_int(call, 1, start) != 0 || tn__argument_int(call, 2, stop) != 0) return -1;
  if (*start >= 0 && *start <= *stop && *stop <= size) return 0;
  return tn__raise("IndexError", "Erase range [%lld, %lld) out of bounds %lld", (long long)*start, (long long)*stop,
                   (long long)size);
}

/* Replaces a range of items by `count` owned ones, and destroys the old items when the list is complete again. */
static int replace(sequence_t *list, int64_t start, int64_t stop, const TVMFFIAny *items, int64_t count) {
  const int64_t removed = stop - start, size = list->cell.size - removed + count;
  TVMFFIAny *old = malloc((size_t)(removed + 1) * sizeof *old);
  if (old == NULL) return tn__no_memory();
  if (size > list->cell.capacity && reserve(list, size < list->cell.capacity * 2 ? list->cell.capacity * 2 : size) != 0) {
    free(old);
    return -1;
  }
  TVMFFIAny *place = items_of(list) + start;
  memcpy(old, place, (size_t)removed * sizeof *old);
  memmove(place + count, place + removed, (size_t)(list->cell.size - stop) * sizeof *place);
  if (count > 0) memcpy(place, items, (size_t)count * sizeof *place);
  list->cell.size = size;
  for (int64_t i = 0; i < removed; i++) tn__clear(&old[i]);
  free(old);
  return 0;
}

static int list_erase_range(const tn__call_t *call) {
  int64_t start, stop;
  if (read_range(call, &start, &stop) != 0) return -1;
  return replace(sequence_of(call), start, stop, NULL, 0);
}

/* ffi.ListReplaceSlice(list, start, stop, replacement): the replacement may be the list itself */
static int list_replace_slice(const tn__call_t *call) {
  int64_t start, stop;
  if (read_range(call, &start, &stop) != 0) return -1;
  if (call->args[3].type_index != kTVMFFIList) return tn__argument_mismatch(call, 3, tn__type_name(kTVMFFIList));
  const sequence_t *from = (const sequence_t *)(void *)call->args[3].v_obj;
  const int64_t count = from->cell.size;
  TVMFFIAny *items = malloc((size_t)(count + 1) * sizeof *items);
  if (items == NULL) return tn__no_memory();
  for (int64_t i = 0; i < count; i++) items[i] = tn__copy(&items_of(from)[i]);
  const int status = replace(sequence_of(call), start, stop, items, count);
  for (int64_t i = 0; status != 0 && i < count; i++) tn__clear(&items[i]);
  free(items);
  return status;
}

static int list_reverse(const tn__call_t *call) {
  const sequence_t *list = sequence_of(call);
  for (int64_t i = 0, j = list->cell.size - 1; i < j; i++, j--) {
    const TVMFFIAny item = items_of(list)[i];
    items_of(list)[i] = items_of(list)[j];
    items_of(list)[j] = item;
  }
  return 0;
}

static int list_clear(const tn__call_t *call) {
  sequence_t *list = sequence_of(call);
  while (list->cell.size > 0) {
    TVMFFIAny old = take(list, items_of(list) + list->cell.size - 1);
    tn__clear(&old);
  }
  return 0;
}

const tn__builtin_t tn__sequence_builtins[] = {
    {"ffi.Array", make, TN_ANY_COUNT, kTVMFFIArray},  {"ffi.List", make, TN_ANY_COUNT, kTVMFFIList},
    {"ffi.ArraySize", size_of, 1, kTVMFFIArray},      {"ffi.ListSize", size_of, 1, kTVMFFIList},
    {"ffi.ArrayGetItem", get_item, 2, kTVMFFIArray},  {"ffi.ListGetItem", get_item, 2, kTVMFFIList},
    {"ffi.ArrayContains", contains, 2, kTVMFFIArray}, {"ffi.ListContains", contains, 2, kTVMFFIList},
    {"ffi.ListSetItem", list_set, 3, kTVMFFIList},    {"ffi.ListAppend", list_append, 2, kTVMFFIList},
    {"ffi.ListInsert", list_insert, 3, kTVMFFIList},  {"ffi.ListPop", list_pop, 2, kTVMFFIList},
    {"ffi.ListErase", list_erase, 2, kTVMFFIList},    {"ffi.ListClear", list_clear, 1, kTVMFFIList},
    {"ffi.ListEraseRange", list_erase_range, 3, kTVMFFIList},
    {"ffi.ListReplaceSlice", list_replace_slice, 4, kTVMFFIList},
    {"ffi.ListReverse", list_reverse, 1, kTVMFFIList},
    {.name = NULL},
};
