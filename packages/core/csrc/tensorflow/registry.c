/* Kernels that libraries have registered. Entries are never removed, because libraries stay mapped. */
#include <dlfcn.h>

#include "internal.h"

static tn__lock_t lock = TN__LOCK;
static TF_KernelBuilder **kernels;
static size_t kernel_count;

/* The start of the library that has an address. */
static const void *base_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) == 0 ? NULL : info.dli_fbase;
}

static TF_KernelBuilder *new_builder(const char *operation, const char *device, void *(*create)(TF_OpKernelConstruction *),
                                     void (*destroy)(void *), const void *caller) {
  TF_KernelBuilder *builder = calloc(1, sizeof *builder);
  if (builder == NULL) return NULL;
  builder->create = create;
  builder->destroy = destroy;
  builder->operation = strdup(operation);
  builder->device = strdup(device);
  builder->label = strdup("");
  builder->base = base_of(caller);
  return builder;
}

TF_KernelBuilder *TF_NewKernelBuilder(const char *operation, const char *device, void *(*create)(TF_OpKernelConstruction *),
                                      void (*compute)(void *, TF_OpKernelContext *), void (*destroy)(void *)) {
  TF_KernelBuilder *builder = new_builder(operation, device, create, destroy, __builtin_return_address(0));
  if (builder != NULL) builder->compute = compute;
  return builder;
}

TF_KernelBuilder *TF_NewAsyncKernelBuilder(const char *operation, const char *device, void *(*create)(TF_OpKernelConstruction *),
                                           void (*compute)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *),
                                           void (*destroy)(void *)) {
  TF_KernelBuilder *builder = new_builder(operation, device, create, destroy, __builtin_return_address(0));
  if (builder != NULL) builder->compute_async = compute;
  return builder;
}

void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder *builder, const char *attribute, TF_DataType type, TF_Status *status) {
  if (TF_DataTypeSize(type) == 0 && type != TF_STRING && type != TF_RESOURCE && type != TF_VARIANT)
    return tn__tf_set(status, TF_UNIMPLEMENTED, "there is no type %d", (int)type);
  tn__tf_constraint_t *constraint = malloc(sizeof *constraint + strlen(attribute) + 1);
  if (constraint == NULL) return TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a constraint");
  *constraint = (tn__tf_constraint_t){builder->constraints, type};
  strcpy(constraint->attribute, attribute);
  builder->constraints = constraint;
  tn__tf_ok(status);
}

/* All memory is that of the host. */
void TF_KernelBuilder_HostMemory(TF_KernelBuilder *builder, const char *argument) { (void)builder, (void)argument; }

void TF_KernelBuilder_Priority(TF_KernelBuilder *builder, int32_t priority) { builder->priority = priority; }

void TF_KernelBuilder_Label(TF_KernelBuilder *builder, const char *label) {
  free(builder->label);
  builder->label = strdup(label);
}

void TF_DeleteKernelBuilder(TF_KernelBuilder *builder) {
  if (builder == NULL) return;
  for (tn__tf_constraint_t *one = builder->constraints, *next; one != NULL; one = next) {
    next = one->next;
    free(one);
  }
  free(builder->operation);
  free(builder->device);
  free(builder->label);
  free(builder);
}

/* Adds a kernel, which the registry owns from here on. Returns 0 without memory. */
static int add(TF_KernelBuilder *builder) {
  tn__lock(&lock);
  TF_KernelBuilder **grown = realloc(kernels, (kernel_count + 1) * sizeof(TF_KernelBuilder *));
  if (grown != NULL) {
    kernels = grown;
    kernels[kernel_count++] = builder;
  }
  tn__unlock(&lock);
  return grown != NULL;
}

void TF_RegisterKernelBuilder(const char *name, TF_KernelBuilder *builder, TF_Status *status) {
  (void)name;
  if (builder->operation == NULL || builder->device == NULL || builder->label == NULL || !add(builder)) {
    TF_DeleteKernelBuilder(builder);
    return TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a kernel");
  }
  tn__tf_ok(status);
}

void TF_RegisterKernelBuilderWithKernelDef(const char *definition, const char *name, TF_KernelBuilder *builder, TF_Status *status) {
  if (definition == NULL) return TF_RegisterKernelBuilder(name, builder, status);
  tn__tf_set(status, TF_UNIMPLEMENTED, "TF_RegisterKernelBuilderWithKernelDef is not supported for %s: Tenon does not read KernelDef",
             builder->operation);
  TF_DeleteKernelBuilder(builder);
}

const TF_KernelBuilder *tn__tf_kernel(uint32_t index) {
  tn__lock(&lock);
  const TF_KernelBuilder *kernel = index < kernel_count ? kernels[index] : NULL;
  tn__unlock(&lock);
  return kernel;
}

static void list_kernel(tn__tf_list_t *list, const TF_KernelBuilder *kernel, size_t index) {
  tn__tf_add(list, "K");
  tn__tf_add(list, kernel->operation);
  tn__tf_add(list, kernel->device);
  tn__tf_add(list, kernel->label);
  tn__tf_add_number(list, kernel->priority);
  tn__tf_add_number(list, (long long)index);
  for (const tn__tf_constraint_t *one = kernel->constraints; one != NULL; one = one->next) {
    tn__tf_add(list, "C");
    tn__tf_add(list, one->attribute);
    tn__tf_add_number(list, one->type);
  }
}

/* Whether an open library is the one that has a base. The loader returns the handle that a library has already. */
static int is_library(void *library, const void *base) {
  Dl_info info;
  if (base == NULL || dladdr(base, &info) == 0) return 0;
  void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != NULL) dlclose(handle);
  return handle == library;
}

int32_t tn_tf_list(void *library, char *out, size_t capacity, size_t *length) {
  tn__tf_list_t list = {out, capacity, 0};
  const void *own = NULL, *other = NULL;
  const TF_KernelBuilder *kernel;
  for (uint32_t i = 0; (kernel = tn__tf_kernel(i)) != NULL; i++) {
    /* The loader is asked once for the kernels of a library, and never under the lock. */
    if (kernel->base != own && kernel->base != other) {
      if (is_library(library, kernel->base)) own = kernel->base;
      else other = kernel->base;
    }
    if (kernel->base == own && own != NULL) list_kernel(&list, kernel, i);
  }
  tn__tf_list_definitions(&list);
  *length = list.length;
  return TN_OK;
}

/* --- TF_InitKernel() ------------------------------------------------------------------------------------------------------------------- */

typedef struct started {
  struct started *next;
  void (*function)(void);
  int is_done;
} started_t;

static started_t *all_started;
static tn__condition_t ended = TN__CONDITION;
static _Thread_local const started_t *running;

/* Returns an entry that this thread is to run, or null once another one has. */
static started_t *begin(void (*function)(void)) {
  started_t *entry = calloc(1, sizeof *entry), *known;
  tn__lock(&lock);
  for (known = all_started; known != NULL && known->function != function;) known = known->next;
  if (known == NULL && entry != NULL) {
    *entry = (started_t){all_started, function, 0};
    all_started = entry;
    tn__unlock(&lock);
    return entry;
  }
  /* A function that opens its own library does not wait for itself. */
  while (known != NULL && !known->is_done && running != known) tn__wait(&ended, &lock);
  tn__unlock(&lock);
  free(entry);
  return NULL;
}

static void call(void *context) { ((const started_t *)context)->function(); }

int32_t tn_tf_initialize(void *library) {
  void *address = NULL;
  if (tn_library_symbol(library, "TF_InitKernel", strlen("TF_InitKernel"), &address) != TN_OK) return TN_OK;
  started_t *entry = begin((void (*)(void))(uintptr_t)address);
  if (entry == NULL) return TN_OK;
  const started_t *outer = running;
  running = entry;
  const int32_t status = tn_guard_call(call, entry);
  running = outer;
  tn__lock(&lock);
  entry->is_done = 1;
  tn__wake_all(&ended);
  tn__unlock(&lock);
  return status;
}
