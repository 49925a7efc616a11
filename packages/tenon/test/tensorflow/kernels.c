/* Kernels of TensorFlow's C API that decorate strings, fail, end their process, and never end. */
#include <stdlib.h>
#include <string.h>
#include <tenon/tf_kernel.h>

typedef struct {
  char bytes[64];
  size_t size;
} suffix_t;

static void *decorate_create(TF_OpKernelConstruction *construction) {
  TF_Status *status = TF_NewStatus();
  suffix_t *self = calloc(1, sizeof *self);
  int32_t list = 0, total = 0;
  TF_OpKernelConstruction_GetAttrSize(construction, "suffix", &list, &total, status);
  if (TF_GetCode(status) == TF_OK && total > (int32_t)sizeof self->bytes) TF_SetStatus(status, TF_INVALID_ARGUMENT, "suffix is too long");
  if (TF_GetCode(status) == TF_OK) TF_OpKernelConstruction_GetAttrString(construction, "suffix", self->bytes, sizeof self->bytes, status);
  if (TF_GetCode(status) == TF_OK) self->size = (size_t)total;
  else TF_OpKernelConstruction_Failure(construction, status);
  TF_DeleteStatus(status);
  return self;
}

static void decorate(void *data, TF_OpKernelContext *context) {
  const suffix_t *self = data;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *text = NULL, *out = NULL;
  TF_GetInput(context, 0, &text, status);
  if (TF_GetCode(status) == TF_OK) {
    int64_t dims[8];
    const int64_t count = TF_TensorElementCount(text);
    for (int i = 0; i < TF_NumDims(text); i++) dims[i] = TF_Dim(text, i);
    out = TF_AllocateOutput(context, 0, TF_STRING, dims, TF_NumDims(text), (size_t)count * sizeof(TF_TString), status);
    const TF_TString *from = TF_TensorData(text);
    TF_TString *to = TF_GetCode(status) == TF_OK ? TF_TensorData(out) : NULL;
    for (int64_t i = 0; to != NULL && i < count; i++) {
      const size_t size = TF_StringGetSize(&from[i]);
      char *bytes = malloc(size + self->size + 1);
      memcpy(bytes, TF_StringGetDataPointer(&from[i]), size);
      memcpy(bytes + size, self->bytes, self->size);
      TF_StringCopy(&to[i], bytes, size + self->size);
      free(bytes);
    }
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(context, status);
  TF_DeleteTensor(text);
  TF_DeleteTensor(out);
  TF_DeleteStatus(status);
}

static void twice(void *data, TF_OpKernelContext *context) {
  (void)data;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *x = NULL, *y = NULL;
  TF_GetInput(context, 0, &x, status);
  const int64_t dims[] = {TF_TensorElementCount(x)};
  y = TF_AllocateOutput(context, 0, TF_FLOAT, dims, 1, (size_t)dims[0] * 4, status);
  for (int64_t i = 0; i < dims[0]; i++) ((float *)TF_TensorData(y))[i] = 2 * ((const float *)TF_TensorData(x))[i];
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  TF_DeleteStatus(status);
}

static void end_process(void *data, TF_OpKernelContext *context) {
  (void)data, (void)context;
  abort();
}

/* Never calls done. */
static void wait_forever(void *data, TF_OpKernelContext *context, TF_AsyncOpKernelDoneCallback *done) {
  (void)data, (void)context, (void)done;
}

static void fail(void *data, TF_OpKernelContext *context) {
  (void)data;
  TF_Status *status = TF_NewStatus();
  TF_SetStatus(status, TF_OUT_OF_RANGE, "no words are left");
  TF_OpKernelContext_Failure(context, status);
  TF_DeleteStatus(status);
}

static void define(const char *name, const char *input, const char *output, const char *attribute) {
  TF_Status *status = TF_NewStatus();
  TF_OpDefinitionBuilder *builder = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddInput(builder, input);
  TF_OpDefinitionBuilderAddOutput(builder, output);
  if (attribute != NULL) TF_OpDefinitionBuilderAddAttr(builder, attribute);
  TF_RegisterOpDefinition(builder, status);
  TF_DeleteStatus(status);
}

static void enter(TF_KernelBuilder *builder) {
  TF_Status *status = TF_NewStatus();
  TF_RegisterKernelBuilder("test", builder, status);
  TF_DeleteStatus(status);
}

void TF_InitKernel(void) {
  define("Decorate", "text: string", "decorated: string", "suffix: string = '!'");
  enter(TF_NewKernelBuilder("Decorate", "CPU", decorate_create, decorate, free));
  define("Twice", "x: float", "y: float", NULL);
  enter(TF_NewKernelBuilder("Twice", "CPU", NULL, twice, NULL));
  define("End", "x: float", "y: float", NULL);
  enter(TF_NewKernelBuilder("End", "CPU", NULL, end_process, NULL));
  define("Wait", "x: float", "y: float", NULL);
  enter(TF_NewAsyncKernelBuilder("Wait", "CPU", NULL, wait_forever, NULL));
  define("Fail", "text: string", "y: float", NULL);
  enter(TF_NewKernelBuilder("Fail", "CPU", NULL, fail, NULL));
  enter(TF_NewKernelBuilder("Plain", "CPU", NULL, twice, NULL)); /* has no definition */
}
