/* Array (never changed once others see it) and List (changed in place): a cell over values. */
#include <stdlib.h>

#include "internal.h"

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

/* Copies borrowed values into a new sequence: an array with its items inside, or a list with them outside. */
static int make(int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  bool is_list = type_index == kTVMFFIList;
  size_t bytes = (size_t)num_args * sizeof(TVMFFIAny);
  sequence_t *sequence = tn__object_new(sizeof *sequence + (is_list ? 0 : bytes), type_index, sequence_deleter);
  if (sequence == NULL) return tn__no_memory();
  if (is_list) {
    sequence->cell.data = malloc(bytes == 0 ? sizeof(TVMFFIAny) : bytes);
    sequence->cell.data_deleter = free;
    sequence->cell.capacity = num_args == 0 ? 1 : num_args;
  } else {
    sequence->cell.data = sequence->items;
    sequence->cell.capacity = num_args;
  }
  if (sequence->cell.data == NULL) {
    tn__release(sequence);
    return tn__no_memory();
  }
  for (int32_t i = 0; i < num_args; i++) {
    if (TVMFFIAnyViewToOwnedAny(&args[i], &items_of(sequence)[i]) != 0) {
      tn__release(sequence);
      return -1;
    }
    sequence->cell.size = i + 1;
  }
  *result = tn__object(sequence);
  return 0;
}

static int make_array(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return make(kTVMFFIArray, args, num_args, result);
}

static int make_list(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return make(kTVMFFIList, args, num_args, result);
}

/* The sequence and the index of a call (sequence, index, ...), both checked; `extra` more indices are legal. */
static int place_of(const char *name, int32_t type_index, const TVMFFIAny *args, int64_t extra, sequence_t **sequence,
                    int64_t *index) {
  if (tn__argument_object(name, args, 0, type_index, (void **)sequence) != 0) return -1;
  if (tn__argument_int(name, args, 1, index) != 0) return -1;
  if (*index >= 0 && *index < (*sequence)->cell.size + extra) return 0;
  return tn__raise("IndexError", "Index %lld out of bounds %lld", (long long)*index, (long long)(*sequence)->cell.size);
}

static int get_item(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  sequence_t *sequence;
  int64_t index;
  if (tn__expect_count(name, 2, num_args) != 0) return -1;
  if (place_of(name, type_index, args, 0, &sequence, &index) != 0) return -1;
  *result = tn__copy(&items_of(sequence)[index]);
  return 0;
}

static int size_of(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  void *sequence;
  if (tn__expect_count(name, 1, num_args) != 0) return -1;
  if (tn__argument_object(name, args, 0, type_index, &sequence) != 0) return -1;
  *result = tn__int(((sequence_t *)sequence)->cell.size);
  return 0;
}

static int contains(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  void *handle;
  if (tn__expect_count(name, 2, num_args) != 0) return -1;
  if (tn__argument_object(name, args, 0, type_index, &handle) != 0) return -1;
  const sequence_t *sequence = handle;
  bool found = false;
  for (int64_t i = 0; i < sequence->cell.size && !found; i++) found = tn__equal(&items_of(sequence)[i], &args[1]);
  *result = tn__bool(found);
  return 0;
}

static int array_contains(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return contains("ffi.ArrayContains", kTVMFFIArray, args, num_args, result);
}

static int list_contains(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return contains("ffi.ListContains", kTVMFFIList, args, num_args, result);
}

static int array_get(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return get_item("ffi.ArrayGetItem", kTVMFFIArray, args, num_args, result);
}

static int array_size(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return size_of("ffi.ArraySize", kTVMFFIArray, args, num_args, result);
}

static int list_get(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return get_item("ffi.ListGetItem", kTVMFFIList, args, num_args, result);
}

static int list_size(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return size_of("ffi.ListSize", kTVMFFIList, args, num_args, result);
}

/* ffi.ListSetItem(list, index, value) */
static int list_set(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  sequence_t *list;
  int64_t index;
  TVMFFIAny value;
  if (tn__expect_count("ffi.ListSetItem", 3, num_args) != 0) return -1;
  if (place_of("ffi.ListSetItem", kTVMFFIList, args, 0, &list, &index) != 0) return -1;
  if (TVMFFIAnyViewToOwnedAny(&args[2], &value) != 0) return -1;
  TVMFFIAny old = items_of(list)[index];
  items_of(list)[index] = value;
  tn__clear(&old);
  return 0;
}

/* Room for one more item. */
static int grow(sequence_t *list) {
  if (list->cell.size < list->cell.capacity) return 0;
  int64_t capacity = list->cell.capacity < 4 ? 4 : list->cell.capacity * 2;
  TVMFFIAny *items = malloc((size_t)capacity * sizeof *items);
  if (items == NULL) return tn__no_memory();
  if (list->cell.size > 0) memcpy(items, list->cell.data, (size_t)list->cell.size * sizeof *items);
  if (list->cell.data_deleter != NULL) list->cell.data_deleter(list->cell.data);
  list->cell.data = items;
  list->cell.capacity = capacity;
  list->cell.data_deleter = free; /* a list of C++ had its own */
  return 0;
}

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

/* ffi.ListAppend(list, value) */
static int list_append(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  void *list;
  if (tn__expect_count("ffi.ListAppend", 2, num_args) != 0) return -1;
  if (tn__argument_object("ffi.ListAppend", args, 0, kTVMFFIList, &list) != 0) return -1;
  return insert(list, ((sequence_t *)list)->cell.size, &args[1]);
}

/* ffi.ListInsert(list, index, value) */
static int list_insert(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  sequence_t *list;
  int64_t index;
  if (tn__expect_count("ffi.ListInsert", 3, num_args) != 0) return -1;
  if (place_of("ffi.ListInsert", kTVMFFIList, args, 1, &list, &index) != 0) return -1;
  return insert(list, index, &args[2]);
}

/* Takes an item out; the caller owns it. */
static TVMFFIAny take(sequence_t *list, int64_t index) {
  TVMFFIAny *place = items_of(list) + index;
  TVMFFIAny value = *place;
  list->cell.size--;
  memmove(place, place + 1, (size_t)(list->cell.size - index) * sizeof *place);
  return value;
}

/* ffi.ListPop(list, index) -> the item */
static int list_pop(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  sequence_t *list;
  int64_t index;
  if (tn__expect_count("ffi.ListPop", 2, num_args) != 0) return -1;
  if (place_of("ffi.ListPop", kTVMFFIList, args, 0, &list, &index) != 0) return -1;
  *result = take(list, index);
  return 0;
}

/* ffi.ListErase(list, index) */
static int list_erase(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  sequence_t *list;
  int64_t index;
  if (tn__expect_count("ffi.ListErase", 2, num_args) != 0) return -1;
  if (place_of("ffi.ListErase", kTVMFFIList, args, 0, &list, &index) != 0) return -1;
  TVMFFIAny old = take(list, index);
  tn__clear(&old);
  return 0;
}

/* ffi.ListClear(list) */
static int list_clear(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  void *handle;
  if (tn__expect_count("ffi.ListClear", 1, num_args) != 0) return -1;
  if (tn__argument_object("ffi.ListClear", args, 0, kTVMFFIList, &handle) != 0) return -1;
  for (sequence_t *list = handle; list->cell.size > 0;) {
    TVMFFIAny old = take(list, list->cell.size - 1);
    tn__clear(&old);
  }
  return 0;
}

__attribute__((constructor)) static void register_functions(void) {
  static const tn__builtin_t builtins[] = {
      {"ffi.Array", make_array},        {"ffi.ArrayGetItem", array_get},   {"ffi.ArraySize", array_size},
      {"ffi.List", make_list},          {"ffi.ListGetItem", list_get},     {"ffi.ListSize", list_size},
      {"ffi.ListSetItem", list_set},    {"ffi.ListAppend", list_append},   {"ffi.ListInsert", list_insert},
      {"ffi.ListPop", list_pop},        {"ffi.ListErase", list_erase},
      {"ffi.ArrayContains", array_contains}, {"ffi.ListContains", list_contains},     {"ffi.ListClear", list_clear},
  };
  tn__register_builtins(builtins, sizeof builtins / sizeof *builtins);
}
