/* The modules inside a library: `library_bin` holds a count of bytes, the import tree in compressed rows, and for each
 * module its kind and, unless it is the library itself (`_lib`), its bytes. All counts are little-endian 64-bit. */
#include <stdio.h>
#include <stdlib.h>

#include "blob.h"

/* Makes a module of another kind through the global function that its runtime registered. */
static int load_bytes(TVMFFIByteArray kind, TVMFFIByteArray bytes, void **out) {
  char name[128];
  int length = snprintf(name, sizeof name, "ffi.Module.load_from_bytes.%.*s", (int)kind.size, kind.data);
  TVMFFIByteArray span = {name, (size_t)length};
  TVMFFIObjectHandle loader = NULL;
  if (length > 0 && (size_t)length < sizeof name) TVMFFIFunctionGetGlobal(&span, &loader);
  if (loader == NULL)
    return tn__raise("RuntimeError", "Library binary was created using {%.*s} but a loader of that name is not registered. "
                                     "Make sure to have runtime that registers %s",
                     (int)kind.size, kind.data, name);
  TVMFFIAny argument = {.type_index = kTVMFFIByteArrayPtr, .v_ptr = &bytes};
  TVMFFIAny result = tn__none();
  int status = TVMFFIFunctionCall(loader, &argument, 1, &result);
  tn__release(loader);
  if (status == 0 && result.type_index != kTVMFFIModule) {
    status = tn__raise("TypeError", "%s must return a module, it returned `%s`", name, tn__type_name(result.type_index));
    tn__clear(&result);
  }
  if (status == 0) *out = result.v_obj;
  return status;
}

int tn__malformed_blob(void) {
  return tn__raise("ValueError", "the modules inside the library can't be read: they are malformed");
}

/* Reads `count` modules; those read are the caller's, whatever comes back. */
static int read_modules(tn__reader_t *reader, void **modules, uint64_t count, tn__library_t library,
                        tn__generation_t generation, tn__module_t **context) {
  for (uint64_t i = 0; i < count; i++) {
    TVMFFIByteArray kind, bytes;
    uint64_t size;
    if (!tn__read_array(reader, 1, &kind.data, &size)) return tn__malformed_blob();
    kind.size = size;
    if (tn__same(kind, TN_SPAN("_lib"))) {
      if (*context != NULL) return tn__malformed_blob();
      *context = tn__module_new(library, generation);
      if (*context == NULL) return tn__no_memory();
      modules[i] = *context;
    } else {
      if (!tn__read_array(reader, 1, &bytes.data, &size)) return tn__malformed_blob();
      bytes.size = size;
      if (load_bytes(kind, bytes, &modules[i]) != 0) return -1;
    }
  }
  return 0;
}

int tn__link_modules(void **modules, uint64_t count, const char *rows, const char *columns, uint64_t column_count) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t first = tn__number_at(rows, i), last = tn__number_at(rows, i + 1);
    if (first > last || last > column_count) return tn__malformed_blob();
    for (uint64_t j = first; j < last; j++) {
      uint64_t child = tn__number_at(columns, j);
      tn__module_t *parent = tn__module_of(modules[i]);
      if (child >= count || parent == NULL) return tn__malformed_blob();
      if (tn__module_import(parent, modules[child]) != 0) return -1;
    }
  }
  return 0;
}

int tn__read_library_bin(const char *bytes, tn__library_t library, tn__generation_t generation, tn__module_t **out,
                         tn__module_t **context) {
  tn__reader_t reader = {bytes, bytes + 8};
  uint64_t size, row_count, column_count;
  const char *rows, *columns;
  *context = NULL;
  tn__read_count(&reader, &size);
  reader.end = reader.at + size;
  if (size > PTRDIFF_MAX || !tn__read_array(&reader, 8, &rows, &row_count) || row_count < 2 ||
      !tn__read_array(&reader, 8, &columns, &column_count)) {
    free(library.prefix);
    return tn__malformed_blob();
  }
  uint64_t count = row_count - 1;
  void **modules = calloc(count, sizeof *modules);
  int status = modules == NULL ? tn__no_memory() : read_modules(&reader, modules, count, library, generation, context);
  if (status == 0) status = tn__link_modules(modules, count, rows, columns, column_count);
  if (status == 0 && (tn__module_of(modules[0]) == NULL || *context == NULL)) status = tn__malformed_blob();
  if (*context == NULL) free(library.prefix);
  if (status == 0) {
    tn__retain(modules[0]);
    *out = modules[0];
  }
  for (uint64_t i = 0; modules != NULL && i < count; i++) tn__release(modules[i]);
  free(modules);
  return status;
}
