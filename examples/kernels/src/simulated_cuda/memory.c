/* Device memory, copies, and pinned memory of the Host of the simulated driver. See simulated.h. */
#include "simulated.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_BIT (1ULL << 47)

/* A range of device memory or of pinned Host memory. */
typedef struct sim_range {
  sim_object_t object;
  struct sim_range *next;
  uint8_t *start;
  size_t size;
} sim_range_t;

static size_t used;
static sim_range_t *ranges;

/* Returns the link to the range that contains `size` bytes from `start` on, or null. */
static sim_range_t **range_of(sim_kind_t kind, const void *start, size_t size) {
  for (sim_range_t **place = &ranges; *place != NULL; place = &(*place)->next) {
    const sim_range_t *range = *place;
    const uintptr_t offset = (uintptr_t)start - (uintptr_t)range->start;
    if (range->object.kind == kind && offset <= range->size && size <= range->size - offset) return place;
  }
  return NULL;
}

static void *host_of(CUdeviceptr address) { return (void *)(uintptr_t)(address & ~DEVICE_BIT); }

void *sim_host(CUdeviceptr address, size_t size) {
  void *host = host_of(address);
  return (address & DEVICE_BIT) != 0 && range_of(SIM_MEMORY, host, size) != NULL ? host : NULL;
}

static sim_range_t *add_range(sim_kind_t kind, void *start, size_t size) {
  sim_range_t *range = malloc(sizeof *range);
  if (range == NULL) return NULL;
  *range = (sim_range_t){.next = ranges, .start = start, .size = size};
  ranges = range;
  sim_open(&range->object, kind);
  return range;
}

static void remove_range(sim_range_t **place) {
  sim_range_t *range = *place;
  *place = range->next;
  sim_close(&range->object);
  free(range);
}

static CUresult allocate(CUdeviceptr *out, size_t size) {
  if (out == NULL || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > sim_capacity - used) return CUDA_ERROR_OUT_OF_MEMORY;
  const size_t rounded = (size + 255) & ~(size_t)255;
  void *start = aligned_alloc(256, rounded);
  if (start == NULL || add_range(SIM_MEMORY, start, size) == NULL) {
    free(start);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memset(start, 0xcd, size); /* a stand-in for undefined content */
  used += size;
  *out = (CUdeviceptr)(uintptr_t)start | DEVICE_BIT;
  return CUDA_SUCCESS;
}

CUresult sim_release(CUdeviceptr address) {
  sim_range_t **place = (address & DEVICE_BIT) != 0 ? range_of(SIM_MEMORY, host_of(address), 1) : NULL;
  if (place == NULL || (*place)->start != host_of(address)) return CUDA_ERROR_INVALID_VALUE;
  used -= (*place)->size;
  free((*place)->start);
  remove_range(place);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) {
  SIM_ENTER("cuMemAlloc", 1);
  return allocate(out, size);
}

SIM_API CUresult cuMemFree_v2(CUdeviceptr address) {
  SIM_ENTER("cuMemFree", 1);
  return sim_release(address);
}

/* Allocates at once, which the order of the stream allows. */
SIM_API CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, __attribute__((unused)) CUstream stream) {
  SIM_ENTER("cuMemAllocAsync", 1);
  return allocate(out, size);
}

static CUresult run_release(sim_work_t *work) { return sim_release(work->device_to); }

SIM_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  SIM_ENTER("cuMemFreeAsync", 1);
  if (sim_host(address, 1) == NULL) return CUDA_ERROR_INVALID_VALUE;
  return sim_enqueue(stream, &(sim_work_t){.run = run_release, .device_to = address});
}

SIM_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  SIM_ENTER("cuMemGetInfo", 1);
  *free_bytes = sim_capacity - used;
  *total = sim_capacity;
  return CUDA_SUCCESS;
}

/* --- Copies ------------------------------------------------------------------------------------------------------- */

static void *target_of(const sim_work_t *work) {
  return work->to != NULL ? work->to : sim_host(work->device_to, work->size);
}

static const void *source_of(const sim_work_t *work) {
  return work->from != NULL ? work->from : sim_host(work->device_from, work->size);
}

/* Looks up device addresses again, because the memory may have been freed since the copy was enqueued. */
static CUresult run_copy(sim_work_t *work) {
  void *to = target_of(work);
  const void *from = source_of(work);
  if (to == NULL || from == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
  memmove(to, from, work->size);
  return CUDA_SUCCESS;
}

static CUresult enqueue_copy(CUstream stream, sim_work_t copy) {
  copy.run = run_copy;
  if (target_of(&copy) == NULL || source_of(&copy) == NULL) return CUDA_ERROR_INVALID_VALUE;
  return sim_enqueue(stream, &copy);
}

SIM_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  SIM_ENTER("cuMemcpyHtoDAsync", 1);
  return enqueue_copy(stream, (sim_work_t){.device_to = to, .from = from, .size = size});
}

SIM_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  SIM_ENTER("cuMemcpyDtoHAsync", 1);
  return enqueue_copy(stream, (sim_work_t){.to = to, .device_from = from, .size = size});
}

SIM_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  SIM_ENTER("cuMemcpyDtoDAsync", 1);
  return enqueue_copy(stream, (sim_work_t){.device_to = to, .device_from = from, .size = size});
}

static CUresult run_fill(sim_work_t *work) {
  void *to = sim_host(work->device_to, work->size);
  if (to == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
  memset(to, (int)work->number, work->size);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  SIM_ENTER("cuMemsetD8Async", 1);
  if (sim_host(to, count) == NULL) return CUDA_ERROR_INVALID_VALUE;
  return sim_enqueue(stream, &(sim_work_t){.run = run_fill, .device_to = to, .number = value, .size = count});
}

/* --- Pinned ranges ------------------------------------------------------------------------------------------------ */

SIM_API CUresult cuMemHostRegister_v2(void *start, size_t size, unsigned flags) {
  SIM_ENTER("cuMemHostRegister", 1);
  if (start == NULL || size == 0 || flags > 15) return CUDA_ERROR_INVALID_VALUE;
  if (range_of(SIM_PINNED, start, 1) != NULL) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  return add_range(SIM_PINNED, start, size) == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

SIM_API CUresult cuMemHostUnregister(void *start) {
  SIM_ENTER("cuMemHostUnregister", 1);
  sim_range_t **place = range_of(SIM_PINNED, start, 1);
  if (place == NULL || (*place)->start != start) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  remove_range(place);
  return CUDA_SUCCESS;
}
