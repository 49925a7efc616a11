/* The global functions over maps: Map (never changed once others see it) and Dict (changed in place). */
#include <stdlib.h>

#include "map.h"

static int make(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  if (num_args % 2 != 0) return tn__raise("InternalError", "%s takes keys and values in turn, got %d arguments", name, num_args);
  tn__map_t *map = tn__map_new(type_index, (uint64_t)num_args / 2);
  if (map == NULL) return tn__no_memory();
  for (int32_t i = 0; i < num_args; i += 2) {
    TVMFFIAny key = tn__none(), value = tn__none();
    int status = TVMFFIAnyViewToOwnedAny(&args[i], &key);
    if (status == 0) status = TVMFFIAnyViewToOwnedAny(&args[i + 1], &value);
    if (status == 0 && !tn__map_set(map, key, value)) status = tn__no_memory();
    if (status == 0) continue;
    tn__clear(&key);
    tn__clear(&value);
    tn__release(map);
    return -1;
  }
  *result = tn__object(map);
  return 0;
}

/* The map of a call of `count` arguments whose first it is. */
static int map_of(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, int32_t count,
                  tn__map_t **map) {
  if (tn__expect_count(name, count, num_args) != 0) return -1;
  return tn__argument_object(name, args, 0, type_index, (void **)map);
}

static int size_of(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  tn__map_t *map;
  if (map_of(name, type_index, args, num_args, 1, &map) != 0) return -1;
  *result = tn__int((int64_t)map->size);
  return 0;
}

static int count_of(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  tn__map_t *map;
  if (map_of(name, type_index, args, num_args, 2, &map) != 0) return -1;
  *result = tn__int(tn__map_find(map, &args[1]) != NULL);
  return 0;
}

static int get(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  tn__map_t *map;
  if (map_of(name, type_index, args, num_args, 2, &map) != 0) return -1;
  const tn__pair_t *pair = tn__map_find(map, &args[1]);
  if (pair == NULL) return tn__raise("KeyError", "key is not in Map");
  *result = tn__copy(&pair->value);
  return 0;
}

static int get_or_missing(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  tn__map_t *map;
  if (map_of(name, type_index, args, num_args, 2, &map) != 0) return -1;
  const tn__pair_t *pair = tn__map_find(map, &args[1]);
  *result = pair != NULL ? tn__copy(&pair->value) : tn__object(tn__missing_object());
  return 0;
}

/* --- an iterator: a function that answers 0 with the key, 1 with the value, and moves on with 2 ------------------------------ */

typedef struct {
  tn__map_t *map; /* one reference */
  uint64_t position;
} cursor_t;

static void free_cursor(void *self) {
  tn__release(((cursor_t *)self)->map);
  free(self);
}

static int ask_cursor(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  cursor_t *cursor = self;
  int64_t command;
  if (tn__expect_count("iterator", 1, num_args) != 0 || tn__argument_int("iterator", args, 0, &command) != 0) return -1;
  if (cursor->position == TN_MAP_END) return tn__raise("IndexError", "the iterator is at the end of its map");
  const tn__pair_t *pair = tn__map_pair(cursor->map, cursor->position);
  if (command == 0 || command == 1) {
    *result = tn__copy(command == 0 ? &pair->key : &pair->value);
  } else {
    cursor->position = tn__map_next(cursor->map, cursor->position);
    *result = tn__bool(cursor->position != TN_MAP_END);
  }
  return 0;
}

static int iterate(const char *name, int32_t type_index, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  tn__map_t *map;
  TVMFFIObjectHandle function;
  if (map_of(name, type_index, args, num_args, 1, &map) != 0) return -1;
  cursor_t *cursor = malloc(sizeof *cursor);
  if (cursor == NULL) return tn__no_memory();
  tn__retain(map);
  *cursor = (cursor_t){map, tn__map_begin(map)};
  if (TVMFFIFunctionCreate(cursor, ask_cursor, free_cursor, &function) != 0) {
    free_cursor(cursor);
    return -1;
  }
  *result = tn__object(function);
  return 0;
}

/* --- changing a Dict ------------------------------------------------------------------------------------------------------- */

static int dict_set(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__map_t *map;
  TVMFFIAny key, value;
  if (map_of("ffi.DictSetItem", kTVMFFIDict, args, num_args, 3, &map) != 0) return -1;
  if (TVMFFIAnyViewToOwnedAny(&args[1], &key) != 0) return -1;
  if (TVMFFIAnyViewToOwnedAny(&args[2], &value) != 0) {
    tn__clear(&key);
    return -1;
  }
  if (tn__map_set(map, key, value)) return 0;
  tn__clear(&key);
  tn__clear(&value);
  return tn__no_memory();
}

static int dict_erase(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__map_t *map;
  if (map_of("ffi.DictErase", kTVMFFIDict, args, num_args, 2, &map) != 0) return -1;
  tn__map_erase(map, &args[1]);
  return 0;
}

static int dict_clear(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self;
  (void)result;
  tn__map_t *map;
  if (map_of("ffi.DictClear", kTVMFFIDict, args, num_args, 1, &map) != 0) return -1;
  tn__map_clear(map);
  return 0;
}

/* The functions that Map and Dict both have. */
#define BOTH(function, member, name)                                                                               \
  static int map_##member(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {                \
    (void)self;                                                                                                    \
    return function("ffi.Map" name, kTVMFFIMap, args, num_args, result);                                           \
  }                                                                                                                \
  static int dict_##member(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {               \
    (void)self;                                                                                                    \
    return function("ffi.Dict" name, kTVMFFIDict, args, num_args, result);                                         \
  }

BOTH(make, make, "")
BOTH(size_of, size, "Size")
BOTH(count_of, count, "Count")
BOTH(get, get, "GetItem")
BOTH(get_or_missing, get_or_missing, "GetItemOrMissing")
BOTH(iterate, iterate, "ForwardIterFunctor")

__attribute__((constructor)) static void register_functions(void) {
  static const tn__builtin_t builtins[] = {
      {"ffi.Map", map_make},
      {"ffi.MapSize", map_size},
      {"ffi.MapCount", map_count},
      {"ffi.MapGetItem", map_get},
      {"ffi.MapGetItemOrMissing", map_get_or_missing},
      {"ffi.MapForwardIterFunctor", map_iterate},
      {"ffi.Dict", dict_make},
      {"ffi.DictSize", dict_size},
      {"ffi.DictCount", dict_count},
      {"ffi.DictGetItem", dict_get},
      {"ffi.DictGetItemOrMissing", dict_get_or_missing},
      {"ffi.DictForwardIterFunctor", dict_iterate},
      {"ffi.DictSetItem", dict_set},
      {"ffi.DictErase", dict_erase},
      {"ffi.DictClear", dict_clear},
  };
  tn__register_builtins(builtins, sizeof builtins / sizeof *builtins);
}
