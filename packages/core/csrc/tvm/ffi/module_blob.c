/* The modules inside a library of TVM to 0.20: `__tvm_dev_mblob` holds a count of bytes, a count of entries, and for each
 * entry its key: `_lib` stands for the library itself, the import tree in compressed rows follows `_import_tree`, and every
 * other key is a kind of module, whose loader takes as many of the bytes that follow as it wants. */
#include <stdio.h>
#include <stdlib.h>

#include "blob.h"
#include "tenon/tvm_runtime.h"

/* What a loader reads from. */
typedef struct {
  TVMStream head;
  tn__reader_t reader;
} stream_t;

static size_t read_some(TVMStream *self, void *data, size_t size) {
  tn__reader_t *reader = &((stream_t *)self)->reader;
  size_t rest = (size_t)(reader->end - reader->at);
  if (size > rest) size = rest;
  if (size > 0) memcpy(data, reader->at, size);
  reader->at += size;
  return size;
}

static size_t write_nothing(TVMStream *self, const void *data, size_t size) {
  (void)self, (void)data, (void)size;
  return 0;
}

/* The stream lies on the stack of who reads the library. */
static void stay(TVMStream *self) { (void)self; }

static const TVMStreamFunctions stream_functions = {read_some, write_nothing, stay, stay};

/* Makes a module of another kind: one reference. */
static int load_module(TVMFFIByteArray kind, stream_t *stream, void **out) {
  char name[128];
  int length = snprintf(name, sizeof name, "runtime.module.loadbinary_%.*s", (int)kind.size, kind.data);
  TVMFFIByteArray span = {name, (size_t)length};
  TVMFFIObjectHandle loader = NULL;
  if (length > 0 && (size_t)length < sizeof name) TVMFFIFunctionGetGlobal(&span, &loader);
  if (loader == NULL)
    return tn__raise("RuntimeError", "Binary was created using %.*s but a loader of that name is not registered: "
                                     "register the global function %s before the library is loaded",
                     (int)kind.size, kind.data, name);
  TVMFFIAny argument = {.type_index = kTVMFFIOpaquePtr, .v_ptr = stream};
  TVMFFIAny result = tn__none();
  int status = TVMFFIFunctionCall(loader, &argument, 1, &result);
  tn__release(loader);
  if (status == 0 && (result.type_index != kTVMFFIModule || tn__module_of(result.v_obj) == NULL)) {
    status = tn__raise("TypeError", "%s must return a module, it returned `%s`", name, tn__type_name(result.type_index));
    tn__clear(&result);
  }
  if (status == 0) *out = result.v_obj;
  return status;
}

/* What the entries are: modules with a reference each, and the tree if there is one. */
typedef struct {
  void **modules;
  uint64_t count;
  tn__module_t *own; /* that of `_lib`, one of the modules, or null */
  const char *rows, *columns;
  uint64_t row_count, column_count;
} entries_t;

static int read_entries(stream_t *stream, uint64_t entry_count, tn__library_t library, entries_t *entries) {
  tn__reader_t *reader = &stream->reader;
  for (uint64_t i = 0; i < entry_count; i++) {
    TVMFFIByteArray key;
    uint64_t size;
    if (!tn__read_array(reader, 1, &key.data, &size)) return tn__malformed_blob();
    key.size = size;
    if (tn__same(key, TN_SPAN("_import_tree"))) {
      if (!tn__read_array(reader, 8, &entries->rows, &entries->row_count)) return tn__malformed_blob();
      if (!tn__read_array(reader, 8, &entries->columns, &entries->column_count)) return tn__malformed_blob();
    } else if (tn__same(key, TN_SPAN("_lib"))) {
      if (entries->own != NULL) return tn__malformed_blob();
      entries->own = tn__module_new(library, TN_SYMBOLS_LEGACY);
      if (entries->own == NULL) return tn__no_memory();
      entries->modules[entries->count++] = entries->own;
    } else {
      if (load_module(key, stream, &entries->modules[entries->count]) != 0) return -1;
      entries->count++;
    }
  }
  return 0;
}

/* Links the modules and finds the root: the first one. Libraries without a tree have no entry of their own, and import all. */
static int link_entries(entries_t *entries, tn__library_t library, tn__module_t **out) {
  if (entries->rows != NULL) {
    if (entries->count == 0 || entries->row_count != entries->count + 1 || entries->own == NULL) return tn__malformed_blob();
    if (tn__link_modules(entries->modules, entries->count, entries->rows, entries->columns, entries->column_count) != 0)
      return -1;
    *out = entries->modules[0];
    tn__retain(*out);
    return 0;
  }
  if (entries->own != NULL) return tn__malformed_blob();
  entries->own = *out = tn__module_new(library, TN_SYMBOLS_LEGACY);
  if (*out == NULL) return tn__no_memory();
  for (uint64_t i = 0; i < entries->count; i++) {
    if (tn__module_import(*out, entries->modules[i]) == 0) continue;
    tn__release(*out);
    return -1;
  }
  return 0;
}

int tn__read_module_blob(const char *bytes, tn__library_t library, tn__module_t **out, tn__module_t **context) {
  stream_t stream = {{&stream_functions}, {bytes, bytes + 8}};
  uint64_t size, entry_count = 0;
  entries_t entries = {.modules = NULL};
  tn__read_count(&stream.reader, &size);
  stream.reader.end = stream.reader.at + size;
  /* Each entry has the size of its key at least. */
  int status = size > PTRDIFF_MAX || !tn__read_count(&stream.reader, &entry_count) || entry_count > size / 8
                   ? tn__malformed_blob()
                   : 0;
  if (status == 0) {
    entries.modules = calloc(entry_count + 1, sizeof *entries.modules);
    status = entries.modules == NULL ? tn__no_memory() : read_entries(&stream, entry_count, library, &entries);
  }
  if (status == 0) status = link_entries(&entries, library, out);
  if (entries.own == NULL) free(library.prefix);
  *context = entries.own;
  for (uint64_t i = 0; i < entries.count; i++) tn__release(entries.modules[i]);
  free(entries.modules);
  return status;
}
