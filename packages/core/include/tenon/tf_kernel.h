/* The part of TensorFlow's C API that kernels use, for kernels in C and C++ that do not link with TensorFlow.
 *
 * The declarations are those of tensorflow/c/kernels.h, ops.h, tf_tensor.h, tf_status.h, tf_tstring.h, tf_datatype.h, tf_buffer.h and
 * logging.h of TensorFlow 2.4 and later, so a file that includes this header also compiles with those, and the same library runs in TensorFlow and
 * in Tenon. The documentation of the functions is that of TensorFlow; the README of @tenon/tensorflow describes what differs.
 *
 *   #include <tenon/tf_kernel.h>
 *   static void negate(void *self, TF_OpKernelContext *context) {
 *     TF_Status *status = TF_NewStatus();
 *     TF_Tensor *x = NULL, *y = NULL;
 *     TF_GetInput(context, 0, &x, status);
 *     const int64_t count = TF_TensorElementCount(x);
 *     y = TF_AllocateOutput(context, 0, TF_FLOAT, &count, 1, (size_t)count * sizeof(float), status);
 *     for (int64_t i = 0; i < count; i++) ((float *)TF_TensorData(y))[i] = -((const float *)TF_TensorData(x))[i];
 *     TF_DeleteTensor(x);
 *     TF_DeleteTensor(y);
 *     TF_DeleteStatus(status);
 *   }
 *   void TF_InitKernel(void) {
 *     TF_Status *status = TF_NewStatus();
 *     TF_OpDefinitionBuilder *negate_op = TF_NewOpDefinitionBuilder("Negate");
 *     TF_OpDefinitionBuilderAddInput(negate_op, "x: float");
 *     TF_OpDefinitionBuilderAddOutput(negate_op, "y: float");
 *     TF_RegisterOpDefinition(negate_op, status);
 *     TF_RegisterKernelBuilder("Negate", TF_NewKernelBuilder("Negate", "CPU", NULL, negate, NULL), status);
 *     TF_DeleteStatus(status);
 *   }
 */
#ifndef TENON_TF_KERNEL_H
#define TENON_TF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tstring.h"

#if defined(_WIN32)
#define TF_CAPI_EXPORT
#else
#define TF_CAPI_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- status ------------------------------------------------------------------------------------------------------------------------ */

typedef enum TF_Code {
  TF_OK = 0,                 TF_CANCELLED = 1,        TF_UNKNOWN = 2,           TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,  TF_NOT_FOUND = 5,        TF_ALREADY_EXISTS = 6,    TF_PERMISSION_DENIED = 7,
  TF_RESOURCE_EXHAUSTED = 8, TF_FAILED_PRECONDITION = 9, TF_ABORTED = 10,       TF_OUT_OF_RANGE = 11,
  TF_UNIMPLEMENTED = 12,     TF_INTERNAL = 13,        TF_UNAVAILABLE = 14,      TF_DATA_LOSS = 15,
  TF_UNAUTHENTICATED = 16
} TF_Code;

typedef struct TF_Status TF_Status;
typedef void (*TF_PayloadVisitor)(const char *key, const char *value, void *capture);

TF_CAPI_EXPORT TF_Status *TF_NewStatus(void);
TF_CAPI_EXPORT void TF_DeleteStatus(TF_Status *);
TF_CAPI_EXPORT void TF_SetStatus(TF_Status *status, TF_Code code, const char *message);
TF_CAPI_EXPORT void TF_SetPayload(TF_Status *status, const char *key, const char *value);
TF_CAPI_EXPORT void TF_ForEachPayload(const TF_Status *status, TF_PayloadVisitor visitor, void *capture);
TF_CAPI_EXPORT void TF_SetStatusFromIOError(TF_Status *status, int error_code, const char *context);
TF_CAPI_EXPORT TF_Code TF_GetCode(const TF_Status *status);
TF_CAPI_EXPORT const char *TF_Message(const TF_Status *status);

/* --- types and tensors ------------------------------------------------------------------------------------------------------------- */

typedef enum TF_DataType {
  TF_FLOAT = 1,     TF_DOUBLE = 2,  TF_INT32 = 3,      TF_UINT8 = 4,   TF_INT16 = 5,   TF_INT8 = 6,       TF_STRING = 7,
  TF_COMPLEX64 = 8, TF_COMPLEX = 8, TF_INT64 = 9,      TF_BOOL = 10,   TF_QINT8 = 11,  TF_QUINT8 = 12,    TF_QINT32 = 13,
  TF_BFLOAT16 = 14, TF_QINT16 = 15, TF_QUINT16 = 16,   TF_UINT16 = 17, TF_COMPLEX128 = 18, TF_HALF = 19,  TF_RESOURCE = 20,
  TF_VARIANT = 21,  TF_UINT32 = 22, TF_UINT64 = 23,    TF_FLOAT8_E5M2 = 24, TF_FLOAT8_E4M3FN = 25,
  TF_FLOAT8_E4M3FNUZ = 26, TF_FLOAT8_E4M3B11FNUZ = 27, TF_FLOAT8_E5M2FNUZ = 28, TF_INT4 = 29, TF_UINT4 = 30,
  TF_INT2 = 31,     TF_UINT2 = 32,  TF_FLOAT4_E2M1FN = 33
} TF_DataType;

typedef struct TF_Tensor TF_Tensor;
typedef unsigned char TF_Bool;
typedef void (*TF_Deallocator)(void *data, size_t length, void *argument);

TF_CAPI_EXPORT size_t TF_DataTypeSize(TF_DataType type); /* 0 for strings, whose elements have 24 bytes */
TF_CAPI_EXPORT TF_Tensor *TF_NewTensor(TF_DataType type, const int64_t *dims, int num_dims, void *data, size_t length,
                                       TF_Deallocator deallocator, void *argument);
TF_CAPI_EXPORT TF_Tensor *TF_AllocateTensor(TF_DataType type, const int64_t *dims, int num_dims, size_t length);
TF_CAPI_EXPORT size_t TF_TensorDefaultAlignment(void);
TF_CAPI_EXPORT TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor);
TF_CAPI_EXPORT void TF_DeleteTensor(TF_Tensor *tensor);
TF_CAPI_EXPORT TF_DataType TF_TensorType(const TF_Tensor *tensor);
TF_CAPI_EXPORT void TF_SetShape(TF_Tensor *tensor, const int64_t *dims, int num_dims);
TF_CAPI_EXPORT int TF_NumDims(const TF_Tensor *tensor);
TF_CAPI_EXPORT int64_t TF_Dim(const TF_Tensor *tensor, int index);
TF_CAPI_EXPORT size_t TF_TensorByteSize(const TF_Tensor *tensor);
TF_CAPI_EXPORT void *TF_TensorData(const TF_Tensor *tensor);
TF_CAPI_EXPORT int64_t TF_TensorElementCount(const TF_Tensor *tensor);
TF_CAPI_EXPORT void TF_TensorBitcastFrom(const TF_Tensor *from, TF_DataType type, TF_Tensor *to, const int64_t *dims, int num_dims,
                                         TF_Status *status);
TF_CAPI_EXPORT bool TF_TensorIsAligned(const TF_Tensor *tensor);

/* --- strings, buffers, messages ---------------------------------------------------------------------------------------------------- */

typedef tn_string_t TF_TString;
typedef enum TF_TString_Type { TF_TSTR_SMALL = 0, TF_TSTR_LARGE = 1, TF_TSTR_OFFSET = 2, TF_TSTR_VIEW = 3 } TF_TString_Type;
typedef struct TF_StringView {
  const char *data;
  size_t len;
} TF_StringView;

TF_CAPI_EXPORT void TF_StringInit(TF_TString *string);
TF_CAPI_EXPORT void TF_StringCopy(TF_TString *string, const char *bytes, size_t size);
TF_CAPI_EXPORT void TF_StringAssignView(TF_TString *string, const char *bytes, size_t size);
TF_CAPI_EXPORT const char *TF_StringGetDataPointer(const TF_TString *string);
TF_CAPI_EXPORT TF_TString_Type TF_StringGetType(const TF_TString *string);
TF_CAPI_EXPORT size_t TF_StringGetSize(const TF_TString *string);
TF_CAPI_EXPORT size_t TF_StringGetCapacity(const TF_TString *string);
TF_CAPI_EXPORT void TF_StringDealloc(TF_TString *string);

typedef struct TF_Buffer {
  const void *data;
  size_t length;
  void (*data_deallocator)(void *data, size_t length);
} TF_Buffer;

TF_CAPI_EXPORT TF_Buffer *TF_NewBufferFromString(const void *bytes, size_t size);
TF_CAPI_EXPORT TF_Buffer *TF_NewBuffer(void);
TF_CAPI_EXPORT void TF_DeleteBuffer(TF_Buffer *buffer);
TF_CAPI_EXPORT TF_Buffer TF_GetBuffer(TF_Buffer *buffer);

typedef enum TF_LogLevel { TF_INFO = 0, TF_WARNING = 1, TF_ERROR = 2, TF_FATAL = 3 } TF_LogLevel;
TF_CAPI_EXPORT void TF_Log(TF_LogLevel level, const char *format, ...);
TF_CAPI_EXPORT void TF_VLog(int level, const char *format, ...);
TF_CAPI_EXPORT void TF_DVLog(int level, const char *format, ...);

TF_CAPI_EXPORT uint64_t TF_NowNanos(void);
TF_CAPI_EXPORT uint64_t TF_NowMicros(void);
TF_CAPI_EXPORT uint64_t TF_NowSeconds(void);

/* --- operations ---------------------------------------------------------------------------------------------------------------------- */

typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;

TF_CAPI_EXPORT TF_OpDefinitionBuilder *TF_NewOpDefinitionBuilder(const char *name);
TF_CAPI_EXPORT void TF_RegisterOpDefinition(TF_OpDefinitionBuilder *builder, TF_Status *status); /* frees the builder */
TF_CAPI_EXPORT void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder *builder);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder *builder, const char *text);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder *builder, const char *text);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder *builder, const char *text);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder *builder, bool value);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder *builder, bool value);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder *builder, bool value);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder *builder, bool value);
TF_CAPI_EXPORT void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder *builder, int version, const char *explanation);
/* Tenon never calls the function. */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder *builder,
                                                                    void (*function)(TF_ShapeInferenceContext *, TF_Status *));

/* --- kernels ------------------------------------------------------------------------------------------------------------------------- */

typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;
typedef struct SP_Stream_st *SP_Stream;

/* A library may define this function, which is called once after the library was loaded. */
TF_CAPI_EXPORT void TF_InitKernel(void);

TF_CAPI_EXPORT TF_KernelBuilder *TF_NewKernelBuilder(const char *operation, const char *device,
                                                     void *(*create)(TF_OpKernelConstruction *),
                                                     void (*compute)(void *self, TF_OpKernelContext *), void (*destroy)(void *self));
TF_CAPI_EXPORT TF_KernelBuilder *TF_NewAsyncKernelBuilder(
    const char *operation, const char *device, void *(*create)(TF_OpKernelConstruction *),
    void (*compute)(void *self, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *done), void (*destroy)(void *self));
TF_CAPI_EXPORT void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder *builder, const char *attribute, TF_DataType type,
                                                    TF_Status *status);
TF_CAPI_EXPORT void TF_KernelBuilder_HostMemory(TF_KernelBuilder *builder, const char *argument);
TF_CAPI_EXPORT void TF_KernelBuilder_Priority(TF_KernelBuilder *builder, int32_t priority);
TF_CAPI_EXPORT void TF_KernelBuilder_Label(TF_KernelBuilder *builder, const char *label);
TF_CAPI_EXPORT void TF_RegisterKernelBuilder(const char *name, TF_KernelBuilder *builder, TF_Status *status); /* owns the builder */
TF_CAPI_EXPORT void TF_RegisterKernelBuilderWithKernelDef(const char *definition, const char *name, TF_KernelBuilder *builder,
                                                          TF_Status *status);
TF_CAPI_EXPORT void TF_DeleteKernelBuilder(TF_KernelBuilder *builder);
TF_CAPI_EXPORT void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback *done);

TF_CAPI_EXPORT void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction *construction, TF_Status *status);
TF_CAPI_EXPORT TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction *construction);
TF_CAPI_EXPORT bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction *construction, const char *name, TF_Status *status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction *construction, const char *name, int32_t *list_size,
                                                        int32_t *total_size, TF_Status *status);
#define TF_DECLARE_ATTRIBUTE(kind, type)                                                                                          \
  TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttr##kind(TF_OpKernelConstruction *construction, const char *name, type *value, \
                                                            TF_Status *status);                                                   \
  TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttr##kind##List(TF_OpKernelConstruction *construction, const char *name,        \
                                                                  type *values, int max_values, TF_Status *status);
TF_DECLARE_ATTRIBUTE(Type, TF_DataType)
TF_DECLARE_ATTRIBUTE(Int32, int32_t)
TF_DECLARE_ATTRIBUTE(Int64, int64_t)
TF_DECLARE_ATTRIBUTE(Float, float)
TF_DECLARE_ATTRIBUTE(Bool, TF_Bool)
TF_DECLARE_ATTRIBUTE(Tensor, TF_Tensor *)
#undef TF_DECLARE_ATTRIBUTE
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction *construction, const char *name, char *value,
                                                          size_t max_length, TF_Status *status); /* without a NUL */
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction *construction, const char *name, char **values,
                                                              size_t *lengths, int max_values, void *storage, size_t storage_size,
                                                              TF_Status *status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTensorShape(TF_OpKernelConstruction *construction, const char *name, int64_t *dims,
                                                               size_t num_dims, TF_Status *status);

/* --- runs -------------------------------------------------------------------------------------------------------------------------- */

typedef struct TF_InputRange_Args {
  size_t struct_size;
  void *priv;
  int start, stop;   /* results */
  TF_Status *status; /* result */
} TF_InputRange_Args;

typedef struct TF_AllocatorAttributes {
  size_t struct_size; /* not 0 */
  unsigned char on_host;
} TF_AllocatorAttributes;

TF_CAPI_EXPORT int TF_NumInputs(TF_OpKernelContext *context);
TF_CAPI_EXPORT int TF_NumOutputs(TF_OpKernelContext *context);
TF_CAPI_EXPORT void TF_GetInput(TF_OpKernelContext *context, int index, TF_Tensor **tensor, TF_Status *status);
TF_CAPI_EXPORT void TF_GetInputByName(TF_OpKernelContext *context, const char *name, TF_Tensor **tensor, TF_Status *status);
TF_CAPI_EXPORT void TF_InputRange(TF_OpKernelContext *context, const char *name, TF_InputRange_Args *args);
TF_CAPI_EXPORT TF_DataType TF_InputDatatype(TF_OpKernelContext *context, int index);
TF_CAPI_EXPORT bool TF_IsRefInput(TF_OpKernelContext *context, int index, TF_Status *status);
TF_CAPI_EXPORT bool TF_IsHostMemoryInput(TF_OpKernelContext *context, int index, TF_Status *status);
TF_CAPI_EXPORT bool TF_IsHostMemoryOutput(TF_OpKernelContext *context, int index, TF_Status *status);
TF_CAPI_EXPORT TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext *context, int index);
TF_CAPI_EXPORT TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *context, int index, TF_DataType type, const int64_t *dims,
                                            int num_dims, size_t length, TF_Status *status);
TF_CAPI_EXPORT TF_Tensor *TF_ForwardInputOrAllocateOutput(TF_OpKernelContext *context, const int *candidates, int num_candidates,
                                                          int index, const int64_t *dims, int num_dims, int *forwarded_input,
                                                          TF_Status *status);
TF_CAPI_EXPORT TF_Tensor *TF_AllocateTemp(TF_OpKernelContext *context, TF_DataType type, const int64_t *dims, int num_dims,
                                          TF_AllocatorAttributes *attributes, TF_Status *status);
TF_CAPI_EXPORT void TF_SetOutput(TF_OpKernelContext *context, int index, const TF_Tensor *tensor, TF_Status *status);
TF_CAPI_EXPORT TF_Tensor *TF_GetMutableOutput(TF_OpKernelContext *context, int index, TF_Status *status);
TF_CAPI_EXPORT void TF_OpKernelContext_Failure(TF_OpKernelContext *context, TF_Status *status);
TF_CAPI_EXPORT SP_Stream TF_GetStream(TF_OpKernelContext *context, TF_Status *status);
TF_CAPI_EXPORT int64_t TF_StepId(TF_OpKernelContext *context);
TF_CAPI_EXPORT int64_t TF_GetStepId(TF_OpKernelContext *context);
TF_CAPI_EXPORT uint64_t TF_GetFrameId(TF_OpKernelContext *context);
TF_CAPI_EXPORT int64_t TF_GetIterId(TF_OpKernelContext *context);
TF_CAPI_EXPORT int TF_GetDeviceId(TF_OpKernelContext *context);
TF_CAPI_EXPORT int TF_GetGraphDefVersion(TF_OpKernelContext *context);
TF_CAPI_EXPORT TF_StringView TF_GetDeviceName(TF_OpKernelContext *context);
TF_CAPI_EXPORT TF_StringView TF_GetOpKernelName(TF_OpKernelContext *context);
TF_CAPI_EXPORT TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext *context, size_t index);
TF_CAPI_EXPORT TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext *context);
TF_CAPI_EXPORT void TF_IncNumDeferredOps(TF_OpKernelContext *context);
TF_CAPI_EXPORT void TF_DecNumDeferredOps(TF_OpKernelContext *context);

#ifdef __cplusplus
}
#endif
#endif
