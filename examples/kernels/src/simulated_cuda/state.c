/* The simulated driver's list of what is open, its one device, and its switches for tests. See simulated.h. */
#include "simulated.h"

#include <string.h>

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed = PTHREAD_COND_INITIALIZER;
CUresult sim_sticky;
int sim_held;

static sim_object_t *objects;
static size_t counts[SIM_KINDS];
static int initialised;
static int device_count = 1;

/* --- What is open ----------------------------------------------------------------------------------------------------- */

void sim_open(sim_object_t *object, sim_kind_t kind) {
  *object = (sim_object_t){objects, kind};
  objects = object;
  counts[kind]++;
}

sim_object_t *sim_find(const void *handle, sim_kind_t kind) {
  sim_object_t *object = objects;
  while (object != NULL && (object != handle || object->kind != kind)) object = object->next;
  return object;
}

void sim_close(sim_object_t *object) {
  sim_object_t **place = &objects;
  while (*place != object) place = &(*place)->next;
  *place = object->next;
  counts[object->kind]--;
}

/* --- Errors ------------------------------------------------------------------------------------------------------------- */

static char failing[64];
static CUresult failure;
static _Thread_local CUcontext current;
static struct sim_context {
  sim_object_t object;
  int references;
} primary;

CUresult sim_leave(CUresult result) {
  pthread_mutex_unlock(&sim_lock);
  return result;
}

CUresult sim_enter(const char *name, int needs_context) {
  if (failure != CUDA_SUCCESS && strcmp(name, failing) == 0) {
    const CUresult result = failure;
    failure = CUDA_SUCCESS;
    return result;
  }
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!needs_context) return CUDA_SUCCESS;
  if (current != &primary || primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return sim_sticky;
}

static const struct {
  CUresult result;
  const char *name, *text;
} results[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not initiated in this stream"},
};

static CUresult describe(CUresult result, const char **out, int wants_name) {
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    if (results[i].result != result) continue;
    *out = wants_name ? results[i].name : results[i].text;
    return CUDA_SUCCESS;
  }
  *out = NULL;
  return CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuGetErrorName(CUresult result, const char **out) { return describe(result, out, 1); }
SIM_API CUresult cuGetErrorString(CUresult result, const char **out) { return describe(result, out, 0); }

/* --- The device and its context ------------------------------------------------------------------------------------------- */

SIM_API CUresult cuInit(unsigned flags) {
  pthread_mutex_lock(&sim_lock);
  initialised = 1;
  const CUresult refused = sim_enter("cuInit", 0);
  return sim_leave(refused != CUDA_SUCCESS ? refused : flags != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

SIM_API CUresult cuDriverGetVersion(int *out) {
  *out = 13000;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetCount(int *out) {
  SIM_ENTER("cuDeviceGetCount", 0)
  *out = device_count;
  return sim_leave(CUDA_SUCCESS);
}

SIM_API CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  SIM_ENTER("cuDeviceGet", 0)
  if (ordinal < 0 || ordinal >= device_count) return sim_leave(CUDA_ERROR_INVALID_DEVICE);
  *out = ordinal;
  return sim_leave(CUDA_SUCCESS);
}

SIM_API CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  SIM_ENTER("cuDeviceGetName", 0)
  static const char text[] = "Simulated device (no GPU)";
  if (device != 0 || length < (int)sizeof text) return sim_leave(CUDA_ERROR_INVALID_VALUE);
  memcpy(name, text, sizeof text);
  return sim_leave(CUDA_SUCCESS);
}

SIM_API CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice device) {
  SIM_ENTER("cuDeviceGetAttribute", 0)
  if (device != 0) return sim_leave(CUDA_ERROR_INVALID_DEVICE);
  switch (attribute) {
    case 75: /* compute capability, major and minor */
    case 76:
      *out = 0;
      return sim_leave(CUDA_SUCCESS);
    case 115: /* memory pools */
      *out = 1;
      return sim_leave(CUDA_SUCCESS);
    default:
      return sim_leave(CUDA_ERROR_INVALID_VALUE);
  }
}

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  SIM_ENTER("cuDevicePrimaryCtxRetain", 0)
  if (device != 0) return sim_leave(CUDA_ERROR_INVALID_DEVICE);
  if (primary.references++ == 0) sim_open(&primary.object, SIM_CONTEXT);
  *out = &primary;
  return sim_leave(CUDA_SUCCESS);
}

SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  SIM_ENTER("cuDevicePrimaryCtxRelease", 0)
  if (device != 0 || primary.references == 0) return sim_leave(CUDA_ERROR_INVALID_CONTEXT);
  if (--primary.references == 0) sim_close(&primary.object);
  return sim_leave(CUDA_SUCCESS);
}

SIM_API CUresult cuCtxSetCurrent(CUcontext context) {
  SIM_ENTER("cuCtxSetCurrent", 0)
  if (context != NULL && context != &primary) return sim_leave(CUDA_ERROR_INVALID_CONTEXT);
  current = context;
  return sim_leave(CUDA_SUCCESS);
}

/* --- For tests --------------------------------------------------------------------------------------------------------- */

/* The next call of a function (without its version suffix) returns `result` and does nothing. */
SIM_API void simulated_fail(const char *name, int32_t result) {
  pthread_mutex_lock(&sim_lock);
  strncpy(failing, name, sizeof failing - 1);
  failure = result;
  pthread_mutex_unlock(&sim_lock);
}

/* Non-zero: streams start nothing more. Zero: they go on. */
SIM_API void simulated_hold(int32_t held) {
  pthread_mutex_lock(&sim_lock);
  sim_held = held;
  pthread_cond_broadcast(&sim_changed);
  pthread_mutex_unlock(&sim_lock);
}

/* How many objects of a kind are open: memory, streams, events, modules, graphs, executable graphs, pinned ranges, contexts. */
SIM_API int64_t simulated_open(int32_t kind) {
  pthread_mutex_lock(&sim_lock);
  const int64_t count = kind >= 0 && kind < SIM_KINDS ? (int64_t)counts[kind] : -1;
  pthread_mutex_unlock(&sim_lock);
  return count;
}

/* How much memory the device has, and how many devices there are (0 or 1). */
SIM_API void simulated_set(uint64_t capacity, int32_t devices) {
  pthread_mutex_lock(&sim_lock);
  sim_capacity = (size_t)capacity;
  device_count = devices;
  pthread_mutex_unlock(&sim_lock);
}

/* Takes a sticky error back: with the real driver, only a new process helps. */
SIM_API void simulated_recover(void) {
  pthread_mutex_lock(&sim_lock);
  sim_sticky = CUDA_SUCCESS;
  failure = CUDA_SUCCESS;
  pthread_mutex_unlock(&sim_lock);
}
