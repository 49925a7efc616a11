/* Functions, the registry and errors of libtvm_ffi. */
#include <stdio.h>

#include "support.h"
#include "thread.h"

static int deleted;
static void count_deletion(void *self) { (*(int *)self)++; }

static int add_self(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  if (num_args != 1) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "one argument");
    return -1;
  }
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = args[0].v_int64 + *(int *)self};
  return 0;
}

TEST(tvm_a_function_receives_its_state_and_deletes_it_once) {
  int64_t before = tn_tvm_live_objects();
  TVMFFIObjectHandle function;
  deleted = 40;
  CHECK(TVMFFIFunctionCreate(&deleted, add_self, count_deletion, &function) == 0);
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = 2}, result = {.type_index = kTVMFFINone};
  CHECK(TVMFFIFunctionCall(function, &argument, 1, &result) == 0);
  CHECK(result.v_int64 == 42);
  CHECK(TVMFFIFunctionCall(function, NULL, 0, &result) != 0);
  CHECK(result.v_int64 == 42); /* the result is unchanged */
  CHECK(raised_is("TypeError", "one argument"));
  TVMFFIObjectDecRef(function);
  CHECK(deleted == 41);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_the_registry_retains_functions) {
  TVMFFIObjectHandle first, second, found;
  TVMFFIByteArray name = span_of("test.c.registry");
  int64_t before = tn_tvm_live_objects();
  deleted = 0;
  CHECK(TVMFFIFunctionCreate(&deleted, add_self, count_deletion, &first) == 0);
  CHECK(TVMFFIFunctionCreate(&deleted, add_self, count_deletion, &second) == 0);
  CHECK(TVMFFIFunctionGetGlobal(&name, &found) == 0 && found == NULL);
  CHECK(TVMFFIFunctionSetGlobal(&name, first, 0) == 0);
  TVMFFIObjectDecRef(first);
  CHECK(TVMFFIFunctionSetGlobal(&name, second, 0) != 0);
  CHECK(raised_is("RuntimeError", "Global Function `test.c.registry` is already registered"));
  CHECK(deleted == 0);
  CHECK(TVMFFIFunctionSetGlobal(&name, second, 1) == 0);
  CHECK(deleted == 1);
  TVMFFIObjectDecRef(second);
  CHECK(TVMFFIFunctionGetGlobal(&name, &found) == 0 && found == second);
  TVMFFIObjectDecRef(found);
  TVMFFIByteArray remove_name = span_of("ffi.FunctionRemoveGlobal");
  TVMFFIObjectHandle remove;
  CHECK(TVMFFIFunctionGetGlobal(&remove_name, &remove) == 0 && remove != NULL);
  TVMFFIAny argument = {.type_index = kTVMFFIRawStr, .v_c_str = "test.c.registry"}, result = {.type_index = kTVMFFINone};
  CHECK(TVMFFIFunctionCall(remove, &argument, 1, &result) == 0 && result.v_int64 == 1);
  CHECK(deleted == 2);
  TVMFFIObjectDecRef(remove);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_a_global_function_can_have_metadata) {
  TVMFFIMethodInfo method = {.name = span_of("test.c.metadata"), .doc = span_of(""), .metadata = span_of("{\"x\":1}")};
  deleted = 0;
  TVMFFIObjectHandle function, ask;
  CHECK(TVMFFIFunctionCreate(&deleted, add_self, NULL, &function) == 0);
  CHECK(TVMFFIFunctionSetGlobalFromMethodInfo(&method, 0) != 0);
  CHECK(raised_is("TypeError", "a global function must be a function"));
  method.method = (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = function};
  CHECK(TVMFFIFunctionSetGlobalFromMethodInfo(&method, 0) == 0);
  TVMFFIObjectDecRef(function);
  TVMFFIByteArray name = span_of("ffi.GetGlobalFuncMetadata");
  CHECK(TVMFFIFunctionGetGlobal(&name, &ask) == 0);
  TVMFFIAny argument = {.type_index = kTVMFFIRawStr, .v_c_str = "test.c.metadata"}, result = {.type_index = kTVMFFINone};
  CHECK(TVMFFIFunctionCall(ask, &argument, 1, &result) == 0);
  CHECK(result.type_index == kTVMFFISmallStr && memcmp(result.v_bytes, "{\"x\":1}", 7) == 0);
  argument.v_c_str = "test.c.nothing";
  CHECK(TVMFFIFunctionCall(ask, &argument, 1, &result) != 0);
  CHECK(raised_is("RuntimeError", "Global Function is not found"));
  TVMFFIObjectDecRef(ask);
}

TEST(tvm_errors_keep_cause_and_context) {
  int64_t before = tn_tvm_live_objects();
  TVMFFIByteArray kind = span_of("ValueError"), message = span_of("what"), frames = span_of("first\n"), more = span_of("second\n");
  TVMFFIObjectHandle cause, error, context;
  CHECK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject, NULL, &context) == 0);
  CHECK(TVMFFIErrorCreate(&kind, &message, &frames, &cause) == 0);
  CHECK(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &frames, cause, context, &error) == 0);
  TVMFFIObjectDecRef(context);
  TVMFFIObjectDecRef(cause);
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  CHECK(cell->cause_chain == cause && cell->extra_context == context);
  cell->update_backtrace(error, &more, 1);
  CHECK(strcmp(cell->backtrace.data, "first\nsecond\n") == 0);
  cell->update_backtrace(error, &more, 0);
  CHECK(strcmp(cell->backtrace.data, "second\n") == 0);
  TVMFFIObjectDecRef(error);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_a_raised_error_is_moved_out_once_and_replaced) {
  int64_t before = tn_tvm_live_objects();
  TVMFFIObjectHandle error;
  TVMFFIErrorSetRaisedFromCStr("A", "first");
  TVMFFIErrorSetRaisedFromCStr("B", "second");
  CHECK(tn_tvm_live_objects() == before + 1); /* the second error replaces the first */
  CHECK(raised_is("B", "second"));
  TVMFFIErrorMoveFromRaised(&error); /* moved out once */
  CHECK(error == NULL);
  TVMFFIByteArray kind = span_of("D"), message = span_of("third"), none = span_of("");
  TVMFFIObjectHandle moved;
  CHECK(TVMFFIErrorCreate(&kind, &message, &none, &error) == 0);
  TVMFFIErrorSetRaised(error);
  TVMFFIErrorSetRaised(error); /* the slot still has one reference */
  TVMFFIErrorMoveFromRaised(&moved);
  CHECK(moved == error && (((TVMFFIObject *)error)->combined_ref_count & UINT32_MAX) == 2);
  TVMFFIObjectDecRef(moved);
  TVMFFIErrorSetRaised(error);
  TVMFFIErrorSetRaised(NULL);
  TVMFFIErrorMoveFromRaised(&moved);
  CHECK(moved == NULL && (((TVMFFIObject *)error)->combined_ref_count & UINT32_MAX) == 1);
  TVMFFIObjectDecRef(error);
  const char *parts[] = {"one ", NULL, "two"};
  TVMFFIErrorSetRaisedFromCStrParts("C", parts, 3); /* null parts are left out */
  CHECK(raised_is("C", "one two"));
  const TVMFFIByteArray *backtrace = TVMFFIBacktrace("file.c", 7, "run", 0);
  CHECK(strcmp(backtrace->data, "  File \"file.c\", line 7, in run\n") == 0);
  CHECK(TVMFFIBacktrace(NULL, 0, NULL, 0)->size == 0);
  CHECK(tn_tvm_live_objects() == before);
}

/* musl cannot list the calls in progress. */
#if defined(__GLIBC__) || !defined(__linux__)
static int raise_here(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "here");
  return -1;
}

/* The backtrace lines of the error that a call of `function` raises, and whether the backtrace contains `text`. */
static int lines_with(TVMFFIObjectHandle function, const char *text, int *has_text) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle error = NULL;
  TVMFFIFunctionCall(function, NULL, 0, &result);
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return -1;
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  int lines = 0;
  for (size_t i = 0; i < cell->backtrace.size; i++) lines += cell->backtrace.data[i] == '\n';
  *has_text = strstr(cell->backtrace.data, text) != NULL;
  TVMFFIObjectDecRef(error);
  return lines;
}

TEST(tvm_a_backtrace_has_at_most_as_many_frames_as_the_limit) {
  TVMFFIObjectHandle function;
  int has_text;
  CHECK(TVMFFIFunctionCreate(NULL, raise_here, NULL, &function) == 0);
  CHECK(tn_tvm_set_backtrace_limit(0) == 0); /* disabled by default */
  CHECK(lines_with(function, "File", &has_text) == 0 && !has_text);
  tn_tvm_set_backtrace_limit(100);
  /* The walk ends at the call that entered native code, so only the kernel has a frame. */
  CHECK(lines_with(function, "  File \"", &has_text) == 1 && has_text);
  int within = 0, beyond = 0;
  const TVMFFIByteArray *frames = TVMFFIBacktrace("file.c", 7, "run", 1);
  for (size_t i = 0; i < frames->size; i++) beyond += frames->data[i] == '\n';
  CHECK(strncmp(frames->data, "  File \"file.c\", line 7, in run\n", 32) == 0 && beyond >= 2);
  CHECK(strstr(frames->data, "TVMFFIBacktrace") == NULL && strstr(frames->data, "libtvm_ffi") == NULL);
  CHECK(tn_tvm_set_backtrace_limit(4) == 100);
  frames = TVMFFIBacktrace(NULL, 0, NULL, 1);
  for (size_t i = 0; i < frames->size; i++) within += frames->data[i] == '\n';
  CHECK(within >= 1 && within <= 4);
  tn_tvm_set_backtrace_limit(-5);
  CHECK(tn_tvm_set_backtrace_limit(0) == 0);
  TVMFFIObjectDecRef(function);
}

static const TVMFFIByteArray *deep(int depth) {
  const TVMFFIByteArray *frames = depth == 0 ? TVMFFIBacktrace(NULL, 0, NULL, 1) : deep(depth - 1);
  __asm__ volatile("" ::: "memory");
  return frames;
}

TEST(tvm_a_truncated_backtrace_ends_with_a_whole_line) {
  tn_tvm_set_backtrace_limit(INT32_MAX);
  const TVMFFIByteArray *frames = deep(2000);
  CHECK(frames->size > 1000 && frames->data[frames->size - 1] == '\n' && frames->data[frames->size] == '\0');
  tn_tvm_set_backtrace_limit(0);
}
#endif

static void *register_many(void *seed) {
  char name[64];
  for (int i = 0; i < 500; i++) {
    snprintf(name, sizeof name, "test.c.thread.%d", (i + (int)(intptr_t)seed) % 50);
    TVMFFIByteArray span = span_of(name);
    TVMFFIObjectHandle function, found;
    if (TVMFFIFunctionCreate(&deleted, add_self, NULL, &function) != 0) return "create";
    if (TVMFFIFunctionSetGlobal(&span, function, 1) != 0) return "set";
    TVMFFIObjectDecRef(function);
    if (TVMFFIFunctionGetGlobal(&span, &found) != 0 || found == NULL) return "get";
    TVMFFIObjectDecRef(found);
    snprintf(name, sizeof name, "test.c.Type%d", i % 60);
    span = span_of(name);
    int32_t index = TVMFFITypeGetOrAllocIndex(&span, -1, 1, 0, 1, kTVMFFIObject);
    if (TVMFFIGetTypeInfo(index)->type_key.size != span.size) return "type";
  }
  return NULL;
}

TEST(tvm_threads_register_functions_concurrently) {
  test_thread_t threads[4];
  for (intptr_t i = 0; i < 4; i++) CHECK(thread_start(&threads[i], register_many, (void *)i));
  for (int i = 0; i < 4; i++) {
    void *failed = thread_join(&threads[i]);
    CHECK(failed == NULL);
  }
}

static void *handle;
static int made;

static int make_once(void **result) {
  __atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
  *result = &made;
  return 0;
}

static void *init_once(void *unused) {
  (void)unused;
  return TVMFFIHandleInitOnce(&handle, make_once) == 0 && handle == &made ? NULL : "failed";
}

static int fail_init(void **result) {
  (void)result;
  return -7;
}

static int make_null(void **result) {
  *result = NULL;
  return 0;
}

static int fail_deinit(void *value) {
  (void)value;
  return -5;
}

TEST(tvm_a_handle_is_initialised_once) {
  test_thread_t threads[4];
  void *other = NULL;
  for (int i = 0; i < 4; i++) CHECK(thread_start(&threads[i], init_once, NULL));
  for (int i = 0; i < 4; i++) {
    void *failed = thread_join(&threads[i]);
    CHECK(failed == NULL);
  }
  CHECK(made == 1);
  CHECK(TVMFFIHandleInitOnce(&other, fail_init) == -7 && other == NULL);
  CHECK(TVMFFIHandleInitOnce(&other, make_null) != 0 && other == NULL);
  CHECK(raised_is("RuntimeError", "init_func must return a non-NULL handle"));
  CHECK(TVMFFIHandleDeinitOnce(&handle, fail_deinit) == -5 && handle == NULL);
  CHECK(TVMFFIHandleDeinitOnce(&handle, fail_deinit) == 0);
}
