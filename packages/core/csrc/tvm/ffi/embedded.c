/* The modules inside a library, in two formats, both with little-endian 64-bit counts and an import tree in
 * compressed rows: the children of module i are columns[rows[i]] to columns[rows[i + 1] - 1].
 *
 * `library_bin` consists of a count of bytes, the rows and columns, and for each module its kind and its bytes. The
 * kind `_lib` represents the library itself, and has no bytes.
 *
 * `__tvm_dev_mblob`, of TVM to 0.20, consists of a count of bytes, a count of entries, and for each entry its key:
 * `_lib` represents the library itself, `_import_tree` is followed by the rows and columns, and every other key is a
 * kind of module, whose loader takes as many of the following bytes as it wants. */
#include <stdlib.h>

#include "module.h"
#include "tenon/tvm_runtime.h"

typedef struct {
  const char *at, *end;
} reader_t;

static bool read_count(reader_t *reader, uint64_t *out) {
  if (reader->end - reader->at < 8) return false;
  memcpy(out, reader->at, 8);
  reader->at += 8;
  return true;
}

/* Reads a count and that many elements, which are not copied. */
static bool read_array(reader_t *reader, size_t element_size, const char **out, uint64_t *count) {
  if (!read_count(reader, count) || *count > (uint64_t)(reader->end - reader->at) / element_size) return false;
  *out = reader->at;
  reader->at += *count * element_size;
  return true;
}

static bool read_span(reader_t *reader, TVMFFIByteArray *out) {
  uint64_t size;
  if (!read_array(reader, 1, &out->data, &size)) return false;
  out->size = size;
  return true;
}

static uint64_t number_at(const char *numbers, uint64_t index) {
  uint64_t value;
  memcpy(&value, numbers + index * 8, 8);
  return value;
}

static int malformed(void) { return tn__raise("ValueError", "the modules inside the library are malformed"); }

/* The stream from which loaders of TVM to 0.20 read. */
typedef struct {
  TVMStream head;
  reader_t reader;
} stream_t;

static size_t read_some(TVMStream *self, void *data, size_t size) {
  reader_t *reader = &((stream_t *)self)->reader;
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

/* The stream is a local variable of tn__read_embedded_modules(). */
static void keep_stream(TVMStream *self) { (void)self; }

static const TVMStreamFunctions stream_functions = {read_some, write_nothing, keep_stream, keep_stream};

typedef struct {
  stream_t stream;
  tn__library_t library;
  tn__generation_t generation;
  void **modules; /* retained */
  uint64_t count;
  tn__module_t *own;         /* the module of the library itself: one of the modules, or null */
  const char *rows, *columns; /* null without an import tree */
  uint64_t row_count, column_count;
} contents_t;

static bool allocate(contents_t *contents, uint64_t count) {
  contents->modules = calloc(count + 1, sizeof *contents->modules);
  return contents->modules != NULL;
}

static int add_own(contents_t *contents) {
  if (contents->own != NULL) return malformed();
  contents->own = tn__module_new(contents->library, contents->generation);
  if (contents->own == NULL) return tn__no_memory();
  contents->modules[contents->count++] = contents->own;
  return 0;
}

static int add_loaded(contents_t *contents, TVMFFIByteArray kind, TVMFFIAny argument) {
  const bool is_legacy = contents->generation == TN_SYMBOLS_LEGACY;
  char name[TN_LOADER_NAME];
  TVMFFIObjectHandle loader =
      tn__find_loader(is_legacy ? "runtime.module.loadbinary_" : "ffi.Module.load_from_bytes.", kind, name);
  if (loader == NULL)
    return tn__raise("RuntimeError", "%s was created using {%.*s} but a loader of that name is not registered. "
                                     "Make sure to have runtime that registers %s",
                     is_legacy ? "Binary" : "Library binary", (int)kind.size, kind.data, name);
  TVMFFIAny result = tn__none();
  int status = TVMFFIFunctionCall(loader, &argument, 1, &result);
  tn__release(loader);
  if (status != 0) return status;
  if (result.type_index != kTVMFFIModule) {
    status = tn__raise("TypeError", "%s must return a module, it returned `%s`", name,
                       tn__type_name(result.type_index));
    tn__clear(&result);
    return status;
  }
  contents->modules[contents->count++] = result.v_obj;
  return 0;
}

static bool read_tree(contents_t *contents) {
  reader_t *reader = &contents->stream.reader;
  return read_array(reader, 8, &contents->rows, &contents->row_count) &&
         read_array(reader, 8, &contents->columns, &contents->column_count);
}

static int read_bin(contents_t *contents) {
  reader_t *reader = &contents->stream.reader;
  if (!read_tree(contents) || contents->row_count < 2) return malformed();
  if (!allocate(contents, contents->row_count)) return tn__no_memory();
  int status = 0;
  for (uint64_t i = 0; status == 0 && i + 1 < contents->row_count; i++) {
    TVMFFIByteArray kind, bytes;
    if (!read_span(reader, &kind)) return malformed();
    if (tn__same(kind, TN_SPAN("_lib"))) {
      status = add_own(contents);
    } else {
      if (!read_span(reader, &bytes)) return malformed();
      status = add_loaded(contents, kind, (TVMFFIAny){.type_index = kTVMFFIByteArrayPtr, .v_ptr = &bytes});
    }
  }
  return status;
}

static int read_blob(contents_t *contents) {
  reader_t *reader = &contents->stream.reader;
  const TVMFFIAny stream = {.type_index = kTVMFFIOpaquePtr, .v_ptr = &contents->stream};
  uint64_t entry_count;
  /* Each entry has at least the size of its key. */
  if (!read_count(reader, &entry_count) || entry_count > (uint64_t)(reader->end - reader->at) / 8) return malformed();
  if (!allocate(contents, entry_count)) return tn__no_memory();
  int status = 0;
  for (uint64_t i = 0; status == 0 && i < entry_count; i++) {
    TVMFFIByteArray key;
    if (!read_span(reader, &key)) return malformed();
    if (tn__same(key, TN_SPAN("_import_tree")))
      status = read_tree(contents) ? 0 : malformed();
    else
      status = tn__same(key, TN_SPAN("_lib")) ? add_own(contents) : add_loaded(contents, key, stream);
  }
  return status;
}

/* Adds the imports of the tree. The root is the first module. */
static int link_tree(const contents_t *contents) {
  if (contents->count == 0 || contents->row_count != contents->count + 1 || contents->own == NULL ||
      tn__module_of(contents->modules[0]) == NULL)
    return malformed();
  for (uint64_t i = 0; i < contents->count; i++) {
    uint64_t first = number_at(contents->rows, i), last = number_at(contents->rows, i + 1);
    if (first > last || last > contents->column_count) return malformed();
    for (uint64_t j = first; j < last; j++) {
      uint64_t child = number_at(contents->columns, j);
      tn__module_t *parent = tn__module_of(contents->modules[i]);
      if (child >= contents->count || parent == NULL) return malformed();
      if (tn__module_import(parent, contents->modules[child]) != 0) return -1;
    }
  }
  return 0;
}

/* Without a tree there is no entry of the library either: its module is the root and imports all others. */
static int link_all(contents_t *contents) {
  const uint64_t count = contents->count;
  if (contents->own != NULL) return malformed();
  if (add_own(contents) != 0) return -1;
  for (uint64_t i = 0; i < count; i++)
    if (tn__module_import(contents->own, contents->modules[i]) != 0) return -1;
  return 0;
}

int tn__read_embedded_modules(const char *bytes, tn__library_t library, tn__generation_t generation,
                              tn__module_t **root, tn__module_t **own) {
  contents_t contents = {
      .stream = {{&stream_functions}, {bytes, bytes + 8}}, .library = library, .generation = generation};
  reader_t *reader = &contents.stream.reader;
  uint64_t size;
  read_count(reader, &size);
  reader->end = reader->at + size;
  int (*const read)(contents_t *) = generation == TN_SYMBOLS_LEGACY ? read_blob : read_bin;
  int status = size > PTRDIFF_MAX ? malformed() : read(&contents);
  if (status == 0) status = contents.rows != NULL ? link_tree(&contents) : link_all(&contents);
  if (status == 0) {
    *own = contents.own;
    *root = contents.rows != NULL ? contents.modules[0] : (void *)contents.own;
    tn__retain(*root);
  }
  if (contents.own == NULL) free(library.prefix);
  for (uint64_t i = 0; i < contents.count; i++) tn__release(contents.modules[i]);
  free(contents.modules);
  return status;
}
