/* Operations for the cases of cases.test.ts. Each kernel reports what it has seen as text, or computes what its case expects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tf_kernel.h>

static int deleted;

/* --- results -------------------------------------------------------------------------------------------------------- */

static void fail(TF_OpKernelContext *context, TF_Code code, const char *message) {
  TF_Status *status = TF_NewStatus();
  TF_SetStatus(status, code, message);
  TF_OpKernelContext_Failure(context, status);
  TF_DeleteStatus(status);
}

/* Sets output 0 to a scalar string. */
static void answer(TF_OpKernelContext *context, const char *bytes, size_t size) {
  TF_Status *status = TF_NewStatus();
  TF_Tensor *out = TF_AllocateOutput(context, 0, TF_STRING, NULL, 0, sizeof(TF_TString), status);
  if (TF_GetCode(status) == TF_OK) TF_StringCopy(TF_TensorData(out), bytes, size);
  else TF_OpKernelContext_Failure(context, status);
  TF_DeleteTensor(out);
  TF_DeleteStatus(status);
}

static void answer_text(TF_OpKernelContext *context, const char *text) { answer(context, text, strlen(text)); }

/* --- attributes: the text that create makes is the result ------------------------------------------------------------- */

static void report(void *self, TF_OpKernelContext *context) { answer_text(context, self); }

static void destroy(void *self) {
  deleted++;
  free(self);
}

/* Starts a text with the sizes of the attribute, or with the code of the failure. */
static char *begin(TF_OpKernelConstruction *construction, TF_Status *status) {
  int32_t list = 0, total = 0;
  char *text = calloc(1, 512);
  TF_OpKernelConstruction_GetAttrSize(construction, "Attr", &list, &total, status);
  sprintf(text, "%d %d", list, total);
  return text;
}

static void *end(char *text, TF_Status *status) {
  if (TF_GetCode(status) != TF_OK) sprintf(text, "code %d", TF_GetCode(status));
  TF_DeleteStatus(status);
  return text;
}

#define ADD(text, ...) sprintf((text) + strlen(text), __VA_ARGS__)

#define SCALAR(kind, type, format, cast)                                      \
  static void *create_##kind(TF_OpKernelConstruction *construction) {         \
    TF_Status *status = TF_NewStatus();                                       \
    char *text = begin(construction, status);                                 \
    type value = (type)0;                                                     \
    TF_OpKernelConstruction_GetAttr##kind(construction, "Attr", &value, status); \
    ADD(text, " " format, (cast)value);                                       \
    return end(text, status);                                                 \
  }                                                                           \
  static void *create_##kind##List(TF_OpKernelConstruction *construction) {   \
    TF_Status *status = TF_NewStatus();                                       \
    char *text = begin(construction, status);                                 \
    type values[8] = {0};                                                     \
    const int count = atoi(text);                                             \
    TF_OpKernelConstruction_GetAttr##kind##List(construction, "Attr", values, count, status); \
    for (int i = 0; i < count; i++) ADD(text, " " format, (cast)values[i]);   \
    return end(text, status);                                                 \
  }
SCALAR(Int64, int64_t, "%lld", long long)
SCALAR(Float, float, "%g", double)
SCALAR(Bool, TF_Bool, "%d", int)
SCALAR(Type, TF_DataType, "%d", int)

static void *create_String(TF_OpKernelConstruction *construction) {
  TF_Status *status = TF_NewStatus();
  char *text = begin(construction, status), value[6] = "-----";
  TF_OpKernelConstruction_GetAttrString(construction, "Attr", value, 5, status);
  ADD(text, " %s", value);
  return end(text, status);
}

static void *create_StringList(TF_OpKernelConstruction *construction) {
  TF_Status *status = TF_NewStatus();
  char *text = begin(construction, status), storage[64], *values[8];
  size_t lengths[8];
  const int count = atoi(text);
  TF_OpKernelConstruction_GetAttrStringList(construction, "Attr", values, lengths, count, storage, sizeof storage, status);
  for (int i = 0; i < count && TF_GetCode(status) == TF_OK; i++) ADD(text, " %.*s/%zu", (int)lengths[i], values[i], lengths[i]);
  return end(text, status);
}

/* --- the kernels of the other cases ----------------------------------------------------------------------------------- */

/* The type of an attribute, and the name of the operation. */
static void *create_foo(TF_OpKernelConstruction *construction) {
  TF_Status *status = TF_NewStatus();
  TF_DataType type = 0;
  char *text = calloc(1, 128);
  TF_OpKernelConstruction_GetAttrType(construction, "SomeDataTypeAttr", &type, status);
  const TF_StringView name = TF_OpKernelConstruction_GetName(construction);
  sprintf(text, "%d %.*s", type, (int)name.len, name.data);
  return end(text, status);
}

/* The number of kernels that were deleted. */
static void count_deleted(void *self, TF_OpKernelContext *context) {
  char text[16];
  (void)self;
  sprintf(text, "%d", deleted);
  answer_text(context, text);
}

static void count_tensors(void *self, TF_OpKernelContext *context) {
  TF_Status *status = TF_NewStatus();
  TF_Tensor *input = NULL, *none = NULL;
  (void)self;
  TF_GetInput(context, 1, &input, status);
  const int second = TF_GetCode(status);
  TF_GetInput(context, -1, &none, status);
  const int before = TF_GetCode(status);
  TF_GetInput(context, 3, &none, status);
  const int behind = TF_GetCode(status);
  TF_SetOutput(context, 1, input, status);
  const int set = TF_GetCode(status);
  TF_SetOutput(context, 24, input, status);
  char text[128];
  sprintf(text, "%d %d; input %d %d %d; output %d %d; type %d", TF_NumInputs(context), TF_NumOutputs(context), second, before, behind,
          set, TF_GetCode(status), TF_ExpectedOutputDataType(context, 1));
  TF_DeleteTensor(input);
  TF_DeleteStatus(status);
  answer_text(context, text);
}

static void host_memory(void *self, TF_OpKernelContext *context) {
  TF_Status *status = TF_NewStatus();
  char text[32];
  (void)self;
  sprintf(text, "%d %d", TF_IsHostMemoryInput(context, 1, status), TF_IsHostMemoryOutput(context, 0, status));
  TF_DeleteStatus(status);
  answer_text(context, text);
}

static void stream(void *self, TF_OpKernelContext *context) {
  TF_Status *status = TF_NewStatus();
  char text[32];
  (void)self;
  const int is_null = TF_GetStream(context, status) == NULL;
  sprintf(text, "%d %d", is_null, TF_GetCode(status));
  TF_DeleteStatus(status);
  answer_text(context, text);
}

static void *create_shape(TF_OpKernelConstruction *construction) {
  TF_Status *status = TF_NewStatus();
  int64_t *shape = calloc(3, sizeof *shape);
  int32_t rank = 0, total = 0;
  TF_OpKernelConstruction_GetAttrSize(construction, "shape", &rank, &total, status);
  shape[0] = total;
  TF_OpKernelConstruction_GetAttrTensorShape(construction, "shape", shape + 1, (size_t)total, status);
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
  TF_DeleteStatus(status);
  return shape;
}

static void fill(TF_Tensor *tensor) {
  float *values = TF_TensorData(tensor);
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); i++) values[i] = (float)(i + 1);
}

static void allocate_output(void *self, TF_OpKernelContext *context) {
  const int64_t *shape = self;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *output = TF_AllocateOutput(context, 0, TF_FLOAT, shape + 1, (int)shape[0], 0, status);
  if (TF_GetCode(status) == TF_OK) fill(output);
  else TF_OpKernelContext_Failure(context, status);
  TF_DeleteTensor(output);
  TF_DeleteStatus(status);
}

static void allocate_temp(void *self, TF_OpKernelContext *context) {
  const int64_t *shape = self;
  TF_AllocatorAttributes attributes = {sizeof attributes, 1};
  TF_Status *status = TF_NewStatus();
  TF_Tensor *temp = TF_AllocateTemp(context, TF_FLOAT, shape + 1, (int)shape[0], &attributes, status);
  if (TF_GetCode(status) == TF_OK) {
    fill(temp);
    TF_SetOutput(context, 0, temp, status);
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(context, status);
  TF_DeleteTensor(temp);
  TF_DeleteStatus(status);
}

static void forward(void *self, TF_OpKernelContext *context) {
  const int candidates[1] = {0};
  int forwarded = -2;
  TF_Status *status = TF_NewStatus();
  (void)self;
  TF_Tensor *output = TF_ForwardInputOrAllocateOutput(context, candidates, 1, 1, NULL, 0, &forwarded, status);
  char text[64];
  sprintf(text, "code %d; forwarded %d; type %d; rank %d", TF_GetCode(status), forwarded, TF_TensorType(output), TF_NumDims(output));
  if (forwarded < 0) *(float *)TF_TensorData(output) = 0;
  TF_DeleteTensor(output);
  TF_DeleteStatus(status);
  answer_text(context, text);
}

static void type_of(void *self, TF_OpKernelContext *context) {
  (void)self;
  answer_text(context, "chosen");
}

/* --- a cast of bits ---------------------------------------------------------------------------------------------------- */

static void *create_bitcast(TF_OpKernelConstruction *construction) {
  TF_Status *status = TF_NewStatus();
  TF_DataType *type = calloc(1, sizeof *type);
  TF_OpKernelConstruction_GetAttrType(construction, "type", type, status);
  TF_DeleteStatus(status);
  return type;
}

static void bitcast(void *self, TF_OpKernelContext *context) {
  const TF_DataType to = *(const TF_DataType *)self;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *input = NULL, *output = NULL;
  TF_GetInput(context, 0, &input, status);
  const size_t from_size = TF_DataTypeSize(TF_TensorType(input)), to_size = TF_DataTypeSize(to);
  int rank = TF_NumDims(input);
  int64_t dims[8];
  for (int i = 0; i < rank; i++) dims[i] = TF_Dim(input, i);
  const size_t ratio = from_size > to_size ? from_size / to_size : to_size / from_size;
  if (from_size > to_size) dims[rank++] = (int64_t)ratio;
  else if (from_size < to_size && (rank == 0 || dims[--rank] != (int64_t)ratio))
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "the last axis does not have the bytes of one element");
  if (TF_GetCode(status) == TF_OK) {
    output = TF_AllocateTensor(to, NULL, 0, to_size);
    TF_TensorBitcastFrom(input, to, output, dims, rank, status);
  }
  if (TF_GetCode(status) == TF_OK) TF_SetOutput(context, 0, output, status);
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(context, status);
  TF_DeleteTensor(output);
  TF_DeleteTensor(input);
  TF_DeleteStatus(status);
}

/* --- a summary of scalars: one message for each, with its tag (field 1) and its value (field 2) ------------------------- */

static float value_at(const TF_Tensor *values, int64_t i) {
  if (TF_TensorType(values) == TF_FLOAT) return ((const float *)TF_TensorData(values))[i];
  if (TF_TensorType(values) == TF_DOUBLE) return (float)((const double *)TF_TensorData(values))[i];
  const uint16_t half = ((const uint16_t *)TF_TensorData(values))[i];
  const int exponent = (half >> 10) & 31;
  float value = (float)((half & 1023) | 1024) / 1024;
  for (int e = exponent; e < 15; e++) value /= 2;
  for (int e = 15; e < exponent; e++) value *= 2;
  return half >> 15 ? -value : value;
}

static void summarize(void *self, TF_OpKernelContext *context) {
  TF_Status *status = TF_NewStatus();
  TF_Tensor *tags = NULL, *values = NULL;
  (void)self;
  TF_GetInput(context, 0, &tags, status);
  TF_GetInput(context, 1, &values, status);
  int is_same = TF_NumDims(tags) == TF_NumDims(values);
  for (int i = 0; is_same && i < TF_NumDims(tags); i++) is_same = TF_Dim(tags, i) == TF_Dim(values, i);
  if (is_same) {
    char bytes[512];
    size_t size = 0;
    for (int64_t i = 0; i < TF_TensorElementCount(tags); i++) {
      const TF_TString *tag = (const TF_TString *)TF_TensorData(tags) + i;
      const size_t length = TF_StringGetSize(tag);
      const float value = value_at(values, i);
      bytes[size++] = 10, bytes[size++] = (char)(length + 7);
      bytes[size++] = 10, bytes[size++] = (char)length;
      memcpy(bytes + size, TF_StringGetDataPointer(tag), length), size += length;
      bytes[size++] = 21;
      memcpy(bytes + size, &value, sizeof value), size += sizeof value;
    }
    answer(context, bytes, size);
  } else {
    fail(context, TF_INVALID_ARGUMENT, "tags and values are not the same shape");
  }
  TF_DeleteTensor(tags);
  TF_DeleteTensor(values);
  TF_DeleteStatus(status);
}

/* --- registration ------------------------------------------------------------------------------------------------------ */

static void no_shapes(TF_ShapeInferenceContext *context, TF_Status *status) {
  (void)context;
  TF_SetStatus(status, TF_INTERNAL, "shape functions are not called");
}

/* Registers an operation whose parts are separated by semicolons: inputs, then outputs behind >, then attributes behind |. */
static void define(const char *name, const char *parts) {
  TF_Status *status = TF_NewStatus();
  TF_OpDefinitionBuilder *builder = TF_NewOpDefinitionBuilder(name);
  char copy[512], *at = copy, kind = '<';
  strcpy(copy, parts);
  while (*at != 0) {
    const size_t length = strcspn(at, ";>|");
    const char next = at[length];
    at[length] = 0;
    if (length > 0 && kind == '<') TF_OpDefinitionBuilderAddInput(builder, at);
    if (length > 0 && kind == '>') TF_OpDefinitionBuilderAddOutput(builder, at);
    if (length > 0 && kind == '|') TF_OpDefinitionBuilderAddAttr(builder, at);
    if (next == 0) break;
    if (next != ';') kind = next;
    at += length + 1;
  }
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, no_shapes);
  TF_RegisterOpDefinition(builder, status);
  if (TF_GetCode(status) != TF_OK) TF_Log(TF_ERROR, "%s: %s", name, TF_Message(status));
  TF_DeleteStatus(status);
}

static void add(const char *name, const char *device, void *(*create)(TF_OpKernelConstruction *),
                void (*compute)(void *, TF_OpKernelContext *), void (*deleter)(void *)) {
  TF_Status *status = TF_NewStatus();
  TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, device, create, compute, deleter), status);
  TF_DeleteStatus(status);
}

#define ATTRIBUTE(kind, name, type)                                              \
  define("TestKernelAttr" name, ">text: string|Attr: " type);                    \
  add("TestKernelAttr" name, "FakeDevice", create_##kind, report, destroy);      \
  define("TestKernelAttr" name "List", ">text: string|Attr: list(" type ")");    \
  add("TestKernelAttr" name "List", "FakeDevice", create_##kind##List, report, destroy)

static void add_type_operation(const char *name, TF_DataType type) {
  TF_Status *status = TF_NewStatus();
  char operation[64];
  sprintf(operation, "TypeOp%s", name);
  define(operation, "input1: double;input2: uint8>text: string|T: type");
  TF_KernelBuilder *builder = TF_NewKernelBuilder(operation, "FakeDeviceName1", NULL, type_of, NULL);
  TF_KernelBuilder_TypeConstraint(builder, "T", type, status);
  TF_RegisterKernelBuilder("SomeNodeName", builder, status);
  TF_DeleteStatus(status);
}

static void add_host_memory(void) {
  TF_Status *status = TF_NewStatus();
  define("HostMemoryOp", "input1: double;input2: uint8>text: string|T: type");
  TF_KernelBuilder *builder = TF_NewKernelBuilder("HostMemoryOp", "FakeDeviceName1", NULL, host_memory, NULL);
  TF_KernelBuilder_HostMemory(builder, "input2");
  TF_KernelBuilder_HostMemory(builder, "text");
  TF_RegisterKernelBuilder("SomeNodeName", builder, status);
  TF_DeleteStatus(status);
}

static void define_accessors(void) {
  TF_Status *status = TF_NewStatus();
  TF_OpDefinitionBuilder *builder = TF_NewOpDefinitionBuilder("AttributeAccessorsOp");
  TF_OpDefinitionBuilderAddAttr(builder, "foo1: int >= 2");
  TF_OpDefinitionBuilderAddAttr(builder, "foo2: string=\"my string\"");
  TF_OpDefinitionBuilderAddOutput(builder, "text: string");
  TF_OpDefinitionBuilderSetIsCommutative(builder, true);
  TF_OpDefinitionBuilderSetIsAggregate(builder, true);
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(builder, true);
  TF_OpDefinitionBuilderDeprecated(builder, 4, "use something else instead");
  TF_RegisterOpDefinition(builder, status);
  TF_DeleteStatus(status);
  add("AttributeAccessorsOp", "CPU", NULL, type_of, NULL);
}

void TF_InitKernel(void) {
  TF_DeleteKernelBuilder(NULL);
  define("FooOp", "input1: double;input2: uint8>text: string|SomeDataTypeAttr: type");
  add("FooOp", "FakeDeviceName1", create_foo, report, destroy);
  define("Deleted", ">text: string");
  add("Deleted", "CPU", NULL, count_deleted, NULL);
  ATTRIBUTE(String, "String", "string");
  ATTRIBUTE(Int64, "Int", "int");
  ATTRIBUTE(Float, "Float", "float");
  ATTRIBUTE(Bool, "Bool", "bool");
  ATTRIBUTE(Type, "Type", "type");
  define("BarOp", "input1: double;input2: uint8>text: string;output1: uint8|SomeDataTypeAttr: type");
  add("BarOp", "FakeDeviceName2", NULL, count_tensors, NULL);
  define("BazOp", "input1: float;input2: float>text: string;output1: float|SomeDataTypeAttr: type");
  add("BazOp", "FakeDeviceName", NULL, forward, NULL);
  static const struct {
    const char *name;
    TF_DataType type;
  } types[] = {{"DT_HALF", TF_HALF},     {"DT_BFLOAT16", TF_BFLOAT16}, {"DT_FLOAT", TF_FLOAT},         {"DT_DOUBLE", TF_DOUBLE},
               {"DT_UINT64", TF_UINT64}, {"DT_UINT32", TF_UINT32},     {"DT_UINT16", TF_UINT16},       {"DT_UINT8", TF_UINT8},
               {"DT_INT8", TF_INT8},     {"DT_INT32", TF_INT32},       {"DT_COMPLEX64", TF_COMPLEX64}, {"DT_COMPLEX128", TF_COMPLEX128},
               {"DT_QINT8", TF_QINT8},   {"DT_QUINT8", TF_QUINT8},     {"DT_QINT32", TF_QINT32},       {"DT_QINT16", TF_QINT16},
               {"DT_QUINT16", TF_QUINT16}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) add_type_operation(types[i].name, types[i].type);
  add_host_memory();
  define("StreamOp", ">text: string");
  add("StreamOp", "CPU", NULL, stream, NULL);
  define("AllocateOutputOp", ">output1: float|shape: shape");
  add("AllocateOutputOp", "CPU", create_shape, allocate_output, free);
  define("AllocateTempOp", ">output1: float|shape: shape");
  add("AllocateTempOp", "CPU", create_shape, allocate_temp, free);
  define("SomeOp", "input1: uint8;input2: uint16>text: string|attr1: string");
  add("SomeOp", "CPU", NULL, type_of, NULL);
  define("UnknownShapeOp", "input1: uint8;input2: uint32>text: string");
  add("UnknownShapeOp", "CPU", NULL, type_of, NULL);
  define_accessors();
  define("Bitcast", "input: T>output: type|T: {uint8, uint32, uint64};type: {uint8, uint32, uint64}");
  add("Bitcast", "CPU", create_bitcast, bitcast, free);
  define("ScalarSummary", "tags: string;values: T>summary: string|T: realnumbertype");
  add("ScalarSummary", "CPU", NULL, summarize, NULL);
}
