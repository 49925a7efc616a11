/* The kernels and modules of the simulated driver. See simulated.h. */
#include "simulated.h"

#include <stdlib.h>
#include <string.h>

static float float_of(uint64_t parameter) {
  const uint32_t bits = (uint32_t)parameter;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* saxpy(float a, const float *x, float *y, unsigned n), with y = a * x + y, as in saxpy.ptx. */
static CUresult run_saxpy(const sim_work_t *work) {
  const float a = float_of(work->parameters[0]);
  const unsigned n = (unsigned)work->parameters[3];
  const float *x = sim_host(work->parameters[1], n * sizeof *x);
  float *y = sim_host(work->parameters[2], n * sizeof *y);
  if (x == NULL || y == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (unsigned i = 0; i < n && i < work->grid * work->block; i++) y[i] += a * x[i];
  return CUDA_SUCCESS;
}

/* trap(), a kernel that faults. */
static CUresult run_trap(__attribute__((unused)) const sim_work_t *work) { return CUDA_ERROR_LAUNCH_FAILED; }

static const sim_kernel_t kernels[] = {{"saxpy", 4, run_saxpy}, {"trap", 0, run_trap}};

const sim_kernel_t *sim_kernel(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    if (strlen(kernels[i].name) == length && memcmp(kernels[i].name, name, length) == 0) return &kernels[i];
  }
  return NULL;
}

/* --- Modules ------------------------------------------------------------------------------------------------------ */

/* A module is text that is searched for `.entry NAME`. */
struct sim_module {
  sim_object_t object;
  char *text;
};

SIM_API CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  SIM_ENTER("cuModuleLoadData", 1);
  if (out == NULL || image == NULL) return CUDA_ERROR_INVALID_VALUE;
  const char *text = image;
  if (strstr(text, ".version") == NULL || strstr(text, ".entry") == NULL) return CUDA_ERROR_INVALID_PTX;
  CUmodule module = malloc(sizeof *module);
  if (module == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  module->text = strdup(text);
  sim_open(&module->object, SIM_MODULE);
  *out = module;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleUnload(CUmodule module) {
  SIM_ENTER("cuModuleUnload", 1);
  if (sim_find(module, SIM_MODULE) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  sim_close(&module->object);
  free(module->text);
  free(module);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
  SIM_ENTER("cuModuleGetFunction", 1);
  if (sim_find(module, SIM_MODULE) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  if (out == NULL || name == NULL) return CUDA_ERROR_INVALID_VALUE;
  for (const char *entry = strstr(module->text, ".entry "); entry != NULL; entry = strstr(entry, ".entry ")) {
    entry += strlen(".entry ");
    const size_t length = strcspn(entry, "( \t\n");
    *out = length == strlen(name) && memcmp(entry, name, length) == 0 ? sim_kernel(name, length) : NULL;
    if (*out != NULL) return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

static CUresult run_kernel(sim_work_t *work) { return work->kernel->run(work); }

SIM_API CUresult cuLaunchKernel(CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                                void **parameters, void **extra) {
  SIM_ENTER("cuLaunchKernel", 1);
  const unsigned long grid = (unsigned long)grid_x * grid_y * grid_z;
  const unsigned long block = (unsigned long)block_x * block_y * block_z;
  if (kernel == NULL || sim_kernel(kernel->name, strlen(kernel->name)) != kernel) return CUDA_ERROR_INVALID_HANDLE;
  if (grid == 0 || block == 0 || block > 1024 || shared_bytes > 48 * 1024 || extra != NULL ||
      (kernel->parameters > 0 && parameters == NULL))
    return CUDA_ERROR_INVALID_VALUE;
  sim_work_t work = {.run = run_kernel, .kernel = kernel, .grid = (unsigned)grid, .block = (unsigned)block};
  /* The parameters of saxpy, f32, u64, u64 and u32, are copied now, as the driver does. */
  static const size_t sizes[] = {4, 8, 8, 4};
  for (int i = 0; i < kernel->parameters; i++) memcpy(&work.parameters[i], parameters[i], sizes[i]);
  return sim_enqueue(stream, &work);
}
