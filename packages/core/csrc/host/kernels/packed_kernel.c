/* Packed functions, those of tvm-ffi and those of TVM to 0.20. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_functions.h"
#include "kernel.h"
#include "packed_errors.h"
#include "tenon_call.h"
#include "value.h"

typedef struct {
  tn__kernel_t head;
  TVMFFIObjectHandle function; /* retained */
} packed_kernel_t;

/* --- calls ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  TVMFFIObjectHandle function;
  tn__values_t *args;
  TVMFFIAny *result;
  int status;
} call_t;

static void run_call(void *data) {
  call_t *call = data;
  call->status = tn__ffi.TVMFFIFunctionCall(call->function, call->args->items, call->args->count, call->result);
}

/* Calls a function. 0 and an owned result, or -1 with an error raised; a C++ exception is one too. */
static int call_guarded(call_t *call) {
  const int32_t status = tn_guard_call(run_call, call);
  if (status == TN_OK && call->status == 0) tn__ffi_drop_raised();
  if (status == TN_OK) return call->status == 0 ? 0 : -1;
  char message[1100];
  snprintf(message, sizeof message, "the function threw a C++ exception: %s", tn_last_error());
  /* The result that the function has stored is not valid. */
  *call->result = (TVMFFIAny){.type_index = kTVMFFINone};
  return tn__raise_error(status == TN_OUT_OF_MEMORY ? "MemoryError" : "InternalError", message);
}

/* Keeps the parts of a result, and the result itself if it does not fit into the answer. */
static int32_t answer_kept(tn__request_t *request, tn__value_writer_t *writer) {
  tn__kept_t *kept = writer->kept;
  if (writer->bytes.used > TN_HOST_BODY_SIZE) {
    writer->bytes.is_own = false;
    return tn__answer_long(request, kept, writer->bytes.bytes, writer->bytes.used);
  }
  const uint32_t id = tn__keep(kept);
  if (id == 0) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a result");
  request->slot->length = (uint32_t)writer->bytes.used;
  request->slot->value = id;
  return TN_OK;
}

static int32_t answer_result(tn__request_t *request, const TVMFFIAny *result) {
  tn__kept_t kept = {NULL, 0, 0};
  tn__value_writer_t writer = {request, tn__pack_writer(request->reply, TN_HOST_BODY_SIZE), &kept};
  int32_t status = TN_OK;
  if (tn__value_write(&writer, result) != 0) {
    status = tn__answer_raised(request);
  } else if (writer.bytes.has_failed) {
    status = tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a result");
  } else if (kept.count > 0 || writer.bytes.used > TN_HOST_BODY_SIZE) {
    status = answer_kept(request, &writer);
  } else {
    request->slot->length = (uint32_t)writer.bytes.used;
  }
  tn__kept_clear(&kept);
  tn__pack_free(&writer.bytes);
  return status;
}

static int32_t run_with(tn__request_t *request, packed_kernel_t *kernel) {
  tn__value_reader_t reader = {request, {request->body, request->length}, tn__client_function, NULL};
  tn__values_t args;
  if (!tn__values_read(&reader, &args)) return tn__refuse(request, TN_INVALID_ARGUMENT, "%s", reader.wrong);
  TVMFFIAny result = {.type_index = kTVMFFINone};
  call_t call = {kernel->function, &args, &result, 0};
  int32_t status;
  if (reader.bytes.left > 0) {
    status = tn__refuse(request, TN_INVALID_ARGUMENT, "the arguments must be followed by nothing, got %zu bytes",
                        reader.bytes.left);
  } else {
    const uint64_t start = tn_host_now();
    const int called = call_guarded(&call);
    tn__took(request, start);
    status = called == 0 ? answer_result(request, &result) : tn__answer_raised(request);
  }
  tn__drop(&result);
  tn__values_free(&args);
  return status;
}

static int32_t run(tn__kernel_t *head, tn__request_t *request) {
  tn__client_calls_begin(request);
  const int32_t status = run_with(request, (packed_kernel_t *)(void *)head);
  tn__client_calls_end();
  return status;
}

static void close_kernel(tn__kernel_t *head) {
  packed_kernel_t *kernel = (packed_kernel_t *)(void *)head;
  tn__ffi.TVMFFIObjectDecRef(kernel->function);
  free(kernel);
}

/* --- look-up -------------------------------------------------------------------------------------------------------- */

/* The module of a library in a convention, which is loaded once. 0, or -1 with an error raised. */
static int module_of(tn__kernel_library_t *library, bool is_legacy, TVMFFIAny *out) {
  void **known = &library->modules[is_legacy];
  if (*known == NULL) {
    TVMFFIAny module, args[2] = {{.type_index = kTVMFFIRawStr, .v_c_str = library->path},
                                 {.type_index = kTVMFFIRawStr, .v_c_str = "so"}};
    if (tn__call_global(is_legacy ? TN__LOAD_LEGACY_MODULE : TN__LOAD_MODULE, args, 2, &module) != 0) return -1;
    if (module.type_index != kTVMFFIModule) {
      tn__drop(&module);
      return tn__raise_error("TypeError", "the loader of modules did not return a module");
    }
    *known = module.v_obj;
  }
  *out = (TVMFFIAny){.type_index = kTVMFFIModule, .v_obj = *known};
  return 0;
}

/* Looks a function up in the module of its library, and then among the global functions. */
static int find_function(const tn__kernel_request_t *body, TVMFFIObjectHandle *out) {
  const TVMFFIByteArray name = {body->symbols[3], body->head.symbol_lengths[3]};
  TVMFFIAny args[3], found;
  if (module_of(body->library, body->head.convention == TN_HOST_LEGACY, &args[0]) != 0) return -1;
  if (tn__ffi.TVMFFIStringFromByteArray(&name, &args[1]) != 0) return -1;
  args[2] = (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = 1};
  const int status = tn__call_global(TN__MODULE_FUNCTION, args, 3, &found);
  tn__drop(&args[1]);
  if (status != 0) return -1;
  if (found.type_index != kTVMFFIFunction) {
    tn__drop(&found);
    return tn__ffi.TVMFFIFunctionGetGlobal(&name, out);
  }
  *out = found.v_obj;
  return 0;
}

int32_t tn__packed_kernel(tn__request_t *request, const tn__kernel_request_t *body, tn__kernel_t **out) {
  TN__CHECK(request, body->head.descriptor_length == 0 && body->head.symbol_lengths[3] > 0,
            "a packed function must have a name, and no descriptor");
  const int32_t loaded = tn__packed_runtime_load(body->head.convention == TN_HOST_LEGACY);
  if (loaded != TN_OK)
    return tn__answer_error(request, TN_HOST_LOAD_ERROR, loaded, tn__packed_runtime_error(), strlen(tn__packed_runtime_error()));
  TVMFFIObjectHandle function = NULL;
  if (find_function(body, &function) != 0) return tn__answer_raised(request);
  if (function == NULL)
    return tn__refuse(request, TN_NOT_FOUND, "%s does not have the packed function %.*s", body->library->path,
                      body->head.symbol_lengths[3] > 512 ? 512 : (int)body->head.symbol_lengths[3], body->symbols[3]);
  packed_kernel_t *kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL) {
    tn__ffi.TVMFFIObjectDecRef(function);
    return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for a kernel");
  }
  kernel->head = (tn__kernel_t){.run = run, .close = close_kernel};
  kernel->function = function;
  *out = &kernel->head;
  return TN_OK;
}
