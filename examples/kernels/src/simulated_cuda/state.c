/* The list of open objects, the one device, and the functions for tests of the simulated driver. See simulated.h. */
#include "simulated.h"

#include <string.h>

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed = PTHREAD_COND_INITIALIZER;
CUresult sim_sticky;
int sim_held;
size_t sim_capacity = (size_t)1 << 30;

static sim_object_t *objects;
static size_t counts[SIM_KINDS];
static int initialised;
static int device_count = 1;

/* --- Open objects ------------------------------------------------------------------------------------------------- */

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

/* --- Errors ------------------------------------------------------------------------------------------------------- */

static char failing[64];
static CUresult failure;
static _Thread_local CUcontext current;
static struct sim_context {
  sim_object_t object;
  int references;
} primary;

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

#define SIM_RESULT(name, number, text) {name, #name, text},
static const struct {
  CUresult result;
  const char *name, *text;
} results[] = {SIM_RESULTS(SIM_RESULT)};

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

/* --- The device and its context ----------------------------------------------------------------------------------- */

SIM_API CUresult cuInit(unsigned flags) {
  SIM_LOCK();
  initialised = 1;
  const CUresult refused = sim_enter("cuInit", 0);
  return refused != CUDA_SUCCESS ? refused : flags != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIM_API CUresult cuDriverGetVersion(int *out) {
  *out = 13000;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetCount(int *out) {
  SIM_ENTER("cuDeviceGetCount", 0);
  *out = device_count;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  SIM_ENTER("cuDeviceGet", 0);
  if (ordinal < 0 || ordinal >= device_count) return CUDA_ERROR_INVALID_DEVICE;
  *out = ordinal;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  SIM_ENTER("cuDeviceGetName", 0);
  static const char text[] = "Simulated device (no GPU)";
  if (device != 0 || length < (int)sizeof text) return CUDA_ERROR_INVALID_VALUE;
  memcpy(name, text, sizeof text);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice device) {
  SIM_ENTER("cuDeviceGetAttribute", 0);
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  /* 75 and 76 are the compute capability, major and minor; 115 is the support of memory pools. */
  if (attribute != 75 && attribute != 76 && attribute != 115) return CUDA_ERROR_INVALID_VALUE;
  *out = attribute == 115;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  SIM_ENTER("cuDevicePrimaryCtxRetain", 0);
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (primary.references++ == 0) sim_open(&primary.object, SIM_CONTEXT);
  *out = &primary;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  SIM_ENTER("cuDevicePrimaryCtxRelease", 0);
  if (device != 0 || primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.references == 0) sim_close(&primary.object);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxSetCurrent(CUcontext context) {
  SIM_ENTER("cuCtxSetCurrent", 0);
  if (context != NULL && context != &primary) return CUDA_ERROR_INVALID_CONTEXT;
  current = context;
  return CUDA_SUCCESS;
}

/* --- For tests ---------------------------------------------------------------------------------------------------- */

/* Makes the next call of a function, named without its version suffix, return `result` at once. */
SIM_API void simulated_fail(const char *name, int32_t result) {
  SIM_LOCK();
  strncpy(failing, name, sizeof failing - 1);
  failure = result;
}

/* Pauses all streams if `held` is nonzero, and resumes them otherwise. */
SIM_API void simulated_hold(int32_t held) {
  SIM_LOCK();
  sim_held = held;
  pthread_cond_broadcast(&sim_changed);
}

/* Returns the number of open objects of a kind, which is a sim_kind_t. */
SIM_API int64_t simulated_open(int32_t kind) {
  SIM_LOCK();
  return kind >= 0 && kind < SIM_KINDS ? (int64_t)counts[kind] : -1;
}

/* Sets the memory of the device in bytes, and the number of devices (0 or 1). */
SIM_API void simulated_set(uint64_t capacity, int32_t devices) {
  SIM_LOCK();
  sim_capacity = (size_t)capacity;
  device_count = devices;
}

/* Clears a sticky error, which the real driver does only in a new process. */
SIM_API void simulated_recover(void) {
  SIM_LOCK();
  sim_sticky = CUDA_SUCCESS;
  failure = CUDA_SUCCESS;
}
