/* The global functions over maps: Map, which does not change once created, and Dict, which is changed in place. */
#include <stdlib.h>

#include "map.h"

/* Turns two borrowed values into an owned entry of a map. 0, or -1 with an error raised. */
static int set(tn__map_t *map, const TVMFFIAny *borrowed_key, const TVMFFIAny *borrowed_value) {
  TVMFFIAny key = tn__none(), value = tn__none();
  int status = TVMFFIAnyViewToOwnedAny(borrowed_key, &key);
  if (status == 0) status = TVMFFIAnyViewToOwnedAny(borrowed_value, &value);
  if (status == 0 && !tn__map_set(map, key, value)) status = tn__no_memory();
  if (status == 0) return 0;
  tn__clear(&key);
  tn__clear(&value);
  return -1;
}

static int make(const tn__call_t *call) {
  if (call->num_args % 2 != 0)
    return tn__raise("InternalError", "%s must have a value for each key, got %d arguments", call->name,
                     call->num_args);
  tn__map_t *map = tn__map_new(call->type_index, (uint64_t)call->num_args / 2);
  if (map == NULL) return tn__no_memory();
  int status = 0;
  for (int32_t i = 0; status == 0 && i < call->num_args; i += 2) status = set(map, &call->args[i], &call->args[i + 1]);
  if (status == 0) return tn__give(call, tn__object(map));
  tn__release(map);
  return -1;
}

static tn__map_t *map_of(const tn__call_t *call) { return (tn__map_t *)(void *)call->args[0].v_obj; }

static int size_of(const tn__call_t *call) { return tn__give(call, tn__int((int64_t)map_of(call)->size)); }

static int count_of(const tn__call_t *call) {
  return tn__give(call, tn__int(tn__map_find(map_of(call), &call->args[1]) != NULL));
}

static int get(const tn__call_t *call) {
  const tn__pair_t *pair = tn__map_find(map_of(call), &call->args[1]);
  return pair == NULL ? tn__raise("KeyError", "key is not in Map") : tn__give(call, tn__copy(&pair->value));
}

static int find(const tn__call_t *call) {
  const tn__pair_t *pair = tn__map_find(map_of(call), &call->args[1]);
  return tn__give(call, pair != NULL ? tn__copy(&pair->value) : tn__object(tn__missing_object()));
}

/* An iterator: a function that returns the key for 0 and the value for 1, and moves on for 2. It ends with an error once
 * entries were added or erased, because its position may then be that of another entry, or of none. */
typedef struct {
  tn__map_t *map; /* retained */
  uint64_t position;
  /* The state of the map at the start. C++ code does not count its changes. */
  uint32_t changes;
  uint64_t size, slots;
  const void *data;
} cursor_t;

static bool has_changed(const cursor_t *cursor) {
  const tn__map_t *map = cursor->map;
  return map->changes != cursor->changes || map->size != cursor->size || map->slots != cursor->slots ||
         map->data != cursor->data || !tn__map_has(map, cursor->position);
}

static void free_cursor(void *self) {
  tn__release(((cursor_t *)self)->map);
  free(self);
}

static int ask_cursor(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const tn__call_t call = {"iterator", args, num_args, 0, result};
  cursor_t *cursor = self;
  int64_t command;
  if (tn__expect_count(&call, 1) != 0 || tn__argument_int(&call, 0, &command) != 0) return -1;
  if (cursor->position == TN_MAP_END) return tn__raise("IndexError", "the iterator is at the end of its map");
  if (has_changed(cursor))
    return tn__raise("RuntimeError", "%s changed during iteration: copy its entries before you add or erase some",
                     tn__type_name(cursor->map->head.type_index));
  const tn__pair_t *pair = tn__map_pair(cursor->map, cursor->position);
  if (command == 0 || command == 1) {
    *result = tn__copy(command == 0 ? &pair->key : &pair->value);
  } else {
    cursor->position = tn__map_next(cursor->map, cursor->position);
    *result = tn__bool(cursor->position != TN_MAP_END);
  }
  return 0;
}

static int iterate(const tn__call_t *call) {
  TVMFFIObjectHandle function;
  cursor_t *cursor = malloc(sizeof *cursor);
  if (cursor == NULL) return tn__no_memory();
  tn__map_t *map = map_of(call);
  *cursor = (cursor_t){map, tn__map_begin(map), map->changes, map->size, map->slots, map->data};
  tn__retain(map);
  if (TVMFFIFunctionCreate(cursor, ask_cursor, free_cursor, &function) != 0) {
    free_cursor(cursor);
    return -1;
  }
  return tn__give(call, tn__object(function));
}

static int dict_set(const tn__call_t *call) { return set(map_of(call), &call->args[1], &call->args[2]); }

static int dict_erase(const tn__call_t *call) {
  tn__map_erase(map_of(call), &call->args[1]);
  return 0;
}

static int dict_clear(const tn__call_t *call) {
  return tn__map_clear(map_of(call)) ? 0 : tn__no_memory();
}

const tn__builtin_t tn__dictionary_builtins[] = {
    {"ffi.Map", make, TN_ANY_COUNT, kTVMFFIMap},             {"ffi.Dict", make, TN_ANY_COUNT, kTVMFFIDict},
    {"ffi.MapSize", size_of, 1, kTVMFFIMap},                 {"ffi.DictSize", size_of, 1, kTVMFFIDict},
    {"ffi.MapCount", count_of, 2, kTVMFFIMap},               {"ffi.DictCount", count_of, 2, kTVMFFIDict},
    {"ffi.MapGetItem", get, 2, kTVMFFIMap},                  {"ffi.DictGetItem", get, 2, kTVMFFIDict},
    {"ffi.MapGetItemOrMissing", find, 2, kTVMFFIMap},        {"ffi.DictGetItemOrMissing", find, 2, kTVMFFIDict},
    {"ffi.MapForwardIterFunctor", iterate, 1, kTVMFFIMap},   {"ffi.DictForwardIterFunctor", iterate, 1, kTVMFFIDict},
    {"ffi.DictSetItem", dict_set, 3, kTVMFFIDict},           {"ffi.DictErase", dict_erase, 2, kTVMFFIDict},
    {"ffi.DictClear", dict_clear, 1, kTVMFFIDict},
    {.name = NULL},
};
