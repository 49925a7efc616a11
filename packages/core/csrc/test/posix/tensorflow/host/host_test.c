/* The host of TensorFlow's kernels: statuses, tensors, definitions, and runs in several threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tensorflow/internal.h"
#include "thread.h"

/* --- statuses and tensors -------------------------------------------------------------------------------------------------------------- */

static int visited;
static void visit(const char *key, const char *value, void *capture) {
  visited += strcmp(key, "a") == 0 && strcmp(value, "2") == 0 && capture == &visited;
}

TEST(a_status_keeps_its_last_message_and_payloads) {
  TF_Status *status = TF_NewStatus();
  CHECK(TF_GetCode(status) == TF_OK && *TF_Message(status) == '\0');
  TF_SetPayload(status, "a", "0");
  TF_SetStatus(status, TF_ABORTED, "first");
  TF_SetPayload(status, "a", "1");
  TF_SetPayload(status, "a", "2");
  TF_ForEachPayload(status, visit, &visited);
  CHECK(visited == 1);
  TF_SetStatus(status, TF_INTERNAL, TF_Message(status));
  CHECK(strcmp(TF_Message(status), "first") == 0);
  TF_ForEachPayload(status, visit, &visited);
  CHECK(visited == 1);
  TF_SetStatus(status, TF_OK, "ignored");
  CHECK(*TF_Message(status) == '\0');
  TF_SetStatusFromIOError(status, EACCES, "x");
  CHECK(TF_GetCode(status) == TF_PERMISSION_DENIED);
  TF_DeleteStatus(status);
  TF_DeleteStatus(NULL);
}

TEST(a_failure_that_does_not_fit_is_kept) {
  TF_Status *status = TF_NewStatus();
  TF_SetStatus(status, TF_ABORTED, "text");
  TF_SetPayload(status, "k", "v");
  uint64_t failure = 0;
  tn__tf_keep_failure(&failure, status);
  tn__tf_fail(&failure, TF_INTERNAL, "second");
  char out[64];
  size_t length = 0;
  CHECK(tn_tf_failure(failure, out, 4, &length) == TN_OK && length == 26);
  CHECK(tn_tf_failure(failure, out, sizeof out, &length) == TN_OK && memcmp(out + 12, "text", 4) == 0 && out[0] == TF_ABORTED);
  TF_DeleteStatus(status);
}

TEST(sizes_of_shapes_are_checked) {
  const int64_t huge[] = {INT64_MAX, 2}, negative[] = {0, -1}, empty[] = {INT64_MAX, 0, INT64_MAX};
  CHECK(tn__tf_count(huge, 2) == -1);
  CHECK(tn__tf_count(negative, 2) == -1);
  CHECK(tn__tf_count(empty, 3) == 0);
  CHECK(tn__tf_count(NULL, 0) == 1);
  CHECK(tn__tf_count(NULL, -1) == -1);
  CHECK(tn__tf_count(empty, TN_TF_MOST_AXES + 1) == -1);
  CHECK(tn__tf_byte_size(TF_DOUBLE, INT64_MAX) == SIZE_MAX);
  CHECK(tn__tf_byte_size(TF_RESOURCE, 1) == SIZE_MAX);
  CHECK(TF_DataTypeSize(TF_STRING) == 0 && TF_DataTypeSize((TF_DataType)-1) == 0 && TF_DataTypeSize((TF_DataType)99) == 0);
}

static int deallocated;
static void deallocate(void *data, size_t length, void *argument) {
  deallocated += length == 8 && argument == &deallocated;
  (void)data;
}

TEST(memory_is_freed_with_its_last_tensor) {
  static _Alignas(64) float data[16];
  const int64_t two = 2, three = 3;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *a = TF_NewTensor(TF_FLOAT, &two, 1, data, 8, deallocate, &deallocated);
  CHECK(TF_TensorData(a) == data && TF_TensorIsAligned(a) && TF_TensorMaybeMove(a) == NULL);
  TF_Tensor *b = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  CHECK(TF_TensorMaybeMove(b) == b);
  TF_TensorBitcastFrom(a, TF_INT32, b, &three, 1, status);
  CHECK(TF_GetCode(status) == TF_INVALID_ARGUMENT);
  TF_TensorBitcastFrom(a, TF_INT32, b, &two, 1, status);
  CHECK(TF_GetCode(status) == TF_OK && TF_TensorData(b) == data && TF_TensorType(b) == TF_INT32);
  TF_SetShape(b, &three, 1);
  CHECK(TF_Dim(b, 0) == 2 && TF_Dim(b, 7) == -1);
  TF_DeleteTensor(a);
  CHECK(deallocated == 0);
  TF_DeleteTensor(b);
  CHECK(deallocated == 1);
  /* Memory that is not aligned is copied, and memory that is too small is refused. */
  a = TF_NewTensor(TF_FLOAT, &two, 1, data + 1, 8, deallocate, &deallocated);
  CHECK(deallocated == 2 && TF_TensorIsAligned(a));
  TF_DeleteTensor(a);
  CHECK(TF_NewTensor(TF_FLOAT, &three, 1, data, 8, deallocate, &deallocated) == NULL && deallocated == 3);
  CHECK(TF_AllocateTensor(TF_FLOAT, &three, 1, 8) == NULL);
  TF_DeleteTensor(NULL);
  TF_DeleteStatus(status);
}

TEST(a_tensor_can_have_many_axes) {
  int64_t dims[TN_TF_MOST_AXES];
  for (int i = 0; i < TN_TF_MOST_AXES; i++) dims[i] = 1;
  TF_Tensor *tensor = TF_AllocateTensor(TF_FLOAT, dims, TN_TF_MOST_AXES, 4);
  CHECK(TF_NumDims(tensor) == TN_TF_MOST_AXES && TF_TensorElementCount(tensor) == 1);
  TF_SetShape(tensor, NULL, 0);
  CHECK(TF_NumDims(tensor) == 0);
  TF_SetShape(tensor, dims, 9);
  CHECK(TF_NumDims(tensor) == 9);
  TF_DeleteTensor(tensor);
}

TEST(the_strings_of_an_allocated_tensor_are_empty_and_freed_with_it) {
  const int64_t two = 2;
  char bytes[100];
  memset(bytes, 'x', sizeof bytes);
  TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, &two, 1, 0);
  TF_TString *strings = TF_TensorData(tensor);
  CHECK(TF_TensorByteSize(tensor) == 48 && TF_StringGetSize(&strings[1]) == 0);
  TF_StringCopy(&strings[1], bytes, sizeof bytes);
  CHECK(TF_StringGetType(&strings[1]) == TF_TSTR_LARGE && TF_StringGetSize(&strings[1]) == 100);
  TF_StringAssignView(&strings[0], bytes, 3);
  CHECK(TF_StringGetType(&strings[0]) == TF_TSTR_VIEW);
  TF_DeleteTensor(tensor);
}

TEST(buffers_own_copies) {
  TF_Buffer *buffer = TF_NewBufferFromString("text", 4);
  CHECK(TF_GetBuffer(buffer).length == 4 && memcmp(buffer->data, "text", 4) == 0);
  TF_DeleteBuffer(buffer);
  TF_DeleteBuffer(TF_NewBuffer());
  CHECK(TF_NowSeconds() > 0 && TF_NowMicros() / 1000000 >= TF_NowSeconds() - 1);
}

/* --- definitions ------------------------------------------------------------------------------------------------------------------------ */

static TF_Code define(const char *name, const char *input) {
  TF_Status *status = TF_NewStatus();
  TF_OpDefinitionBuilder *builder = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddInput(builder, input);
  TF_RegisterOpDefinition(builder, status);
  const TF_Code code = TF_GetCode(status);
  TF_DeleteStatus(status);
  return code;
}

TEST(a_second_definition_of_a_name_must_be_equal) {
  CHECK(define("Defined", "x: float") == TF_OK);
  CHECK(define("Defined", "x: float") == TF_OK);
  CHECK(define("Defined", "x: int32") == TF_ALREADY_EXISTS);
  TF_DeleteOpDefinitionBuilder(TF_NewOpDefinitionBuilder("unused"));
  TF_DeleteKernelBuilder(TF_NewKernelBuilder("unused", "CPU", NULL, NULL, NULL));
}

/* --- runs -------------------------------------------------------------------------------------------------------------------------------- */

static void twice(void *self, TF_OpKernelContext *context) {
  (void)self;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *x = NULL;
  TF_GetInput(context, 0, &x, status);
  const int64_t count = TF_TensorElementCount(x);
  TF_Tensor *y = TF_AllocateOutput(context, 0, TF_FLOAT, &count, 1, 0, status);
  for (int64_t i = 0; i < count; i++) ((float *)TF_TensorData(y))[i] = 2 * ((const float *)TF_TensorData(x))[i];
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  TF_DeleteStatus(status);
}

static void twice_later(void *self, TF_OpKernelContext *context, TF_AsyncOpKernelDoneCallback *done) {
  twice(self, context);
  TF_RunAsyncOpKernelDoneCallback(done);
  TF_RunAsyncOpKernelDoneCallback(done);
}

/* Registers a kernel without operands in its description, and returns an instance. */
static tn_tf_instance_t *instance_of(TF_KernelBuilder *builder) {
  TF_Status *status = TF_NewStatus();
  TF_RegisterKernelBuilder("test", builder, status);
  TF_DeleteStatus(status);
  uint32_t index = 0;
  while (tn__tf_kernel(index + 1) != NULL) index++;
  struct {
    tn__tf_description_t head;
    char name[8];
  } description = {{sizeof description, index, 5, 0, 0, 0}, "Twice"};
  tn_tf_instance_t *instance = NULL;
  uint64_t failure = 0;
  return tn_tf_create(&description, &instance, &failure) == TN_OK ? instance : NULL;
}

typedef struct {
  tn_tf_call_t head;
  tn_tf_operand_t operand;
  tn_tf_result_t result;
} call_t;

/* Runs an instance. With `offers` the result is in place. */
static int runs(tn_tf_instance_t *instance, int offers) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  int64_t four = 4, dims[TN_TF_MOST_AXES];
  call_t call = {.head = {.instance = (uintptr_t)instance, .operands = 1, .results = 1}};
  call.operand = (tn_tf_operand_t){
      .data = (uintptr_t)x, .byte_size = sizeof x, .extent = sizeof x, .dims = (uintptr_t)&four, .rank = 1, .type = TF_FLOAT};
  call.result.type = TF_FLOAT;
  if (offers) {
    call.result.data = (uintptr_t)y;
    call.result.byte_size = sizeof y;
    call.result.dims = (uintptr_t)&four;
    call.result.rank = 1;
  }
  if (tn__tf_enter(&call.head) != TN_OK) {
    char out[256];
    size_t length;
    (void)tn_tf_failure(call.head.failure, out, sizeof out, &length);
    return 0;
  }
  if (!offers) {
    if (call.head.left != 1 || call.result.state != TN_TF_OWNED || tn_tf_shape(&call.head, 0, dims) != 1 || dims[0] != 4) return 0;
    call.result.data = (uintptr_t)y;
    if (call.result.needed != sizeof y || tn_tf_take(&call.head) != TN_OK) return 0;
  }
  return call.head.left == 0 && y[0] == 2 && y[3] == 8;
}

static tn_tf_instance_t *shared_instance;

static void *run_many(void *data) {
  int *ok = data;
  for (int i = 0; i < 500; i++) *ok &= runs(shared_instance, i % 2);
  return NULL;
}

TEST(one_instance_runs_in_several_threads) {
  tn_tf_counts_t before, after;
  tn_tf_counts(&before);
  TF_KernelBuilder *const builders[] = {TF_NewKernelBuilder("Twice", "CPU", NULL, twice, NULL),
                                        TF_NewAsyncKernelBuilder("Twice", "CPU", NULL, twice_later, NULL)};
  for (int k = 0; k < 2; k++) {
    shared_instance = instance_of(builders[k]);
    CHECK(shared_instance != NULL);
    int ok[4] = {1, 1, 1, 1};
    test_thread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(thread_start(&threads[i], run_many, &ok[i]));
    for (int i = 0; i < 4; i++) thread_join(&threads[i]);
    CHECK(ok[0] && ok[1] && ok[2] && ok[3]);
    CHECK(tn_tf_delete(shared_instance) == TN_OK);
  }
  tn_tf_counts(&after);
  CHECK(before.instances == after.instances && before.memories == after.memories);
}

static void fails(void *self, TF_OpKernelContext *context) {
  (void)self;
  TF_Status *status = TF_NewStatus();
  twice(NULL, context);
  TF_SetStatus(status, TF_ABORTED, "failed");
  TF_OpKernelContext_Failure(context, status);
  TF_DeleteStatus(status);
}

TEST(the_results_of_a_failed_run_are_freed) {
  tn_tf_instance_t *instance = instance_of(TF_NewKernelBuilder("Fails", "CPU", NULL, fails, NULL));
  tn_tf_counts_t before, after;
  tn_tf_counts(&before);
  CHECK(!runs(instance, 0));
  CHECK(!runs(instance, 1));
  tn_tf_counts(&after);
  CHECK(before.memories == after.memories);
  CHECK(tn_tf_delete(instance) == TN_OK);
}
