/* The device of the tensors in containers. */
#include "map.h"

/* How deep containers may be nested: a List or Dict can contain itself. */
#define DEPTH_LIMIT 1000

typedef struct {
  DLDevice device;
  bool is_found;
} search_t;

static int search(search_t *state, const TVMFFIAny *value, int32_t depth);

static int search_sequence(search_t *state, const TVMFFIAny *value, int32_t depth) {
  const TVMFFISeqCell *cell = (const TVMFFISeqCell *)(const void *)(value->v_obj + 1);
  int status = 0;
  for (int64_t i = 0; status == 0 && !state->is_found && i < cell->size; i++)
    status = search(state, (const TVMFFIAny *)cell->data + i, depth + 1);
  return status;
}

static int search_map(search_t *state, const TVMFFIAny *value, int32_t depth) {
  const tn__map_t *map = (const tn__map_t *)(const void *)value->v_obj;
  int status = 0;
  for (uint64_t at = tn__map_begin(map); status == 0 && !state->is_found && at != TN_MAP_END; at = tn__map_next(map, at))
    status = search(state, &tn__map_pair(map, at)->value, depth + 1);
  return status;
}

static int search(search_t *state, const TVMFFIAny *value, int32_t depth) {
  if (depth > DEPTH_LIMIT)
    return tn__raise("RecursionError", "containers are nested more than %d deep, or one contains itself", DEPTH_LIMIT);
  switch (value->type_index) {
    case kTVMFFITensor:
      state->device = TVMFFITensorGetDLTensorPtr(value->v_obj)->device;
      state->is_found = state->device.device_type != kDLCPU;
      return 0;
    case kTVMFFIArray:
    case kTVMFFIList:
      return search_sequence(state, value, depth);
    case kTVMFFIMap:
    case kTVMFFIDict:
      return search_map(state, value, depth);
    default:
      return 0;
  }
}

/* ffi.ContainerFindFirstNonCPUDevice(value): the device of the first tensor outside the CPU's memory, or the CPU */
static int find_device(const tn__call_t *call) {
  search_t state = {.is_found = false};
  if (search(&state, &call->args[0], 0) != 0) return -1;
  const DLDevice cpu = {kDLCPU, 0};
  return tn__give(call, (TVMFFIAny){.type_index = kTVMFFIDevice, .v_device = state.is_found ? state.device : cpu});
}

const tn__builtin_t tn__device_builtins[] = {
    {"ffi.ContainerFindFirstNonCPUDevice", find_device, 1, 0},
    {.name = NULL},
};
