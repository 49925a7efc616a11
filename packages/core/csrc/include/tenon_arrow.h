/* The Arrow C data interface: structs that JavaScript takes over from native code, and structs over memory of JavaScript. The rules of
 * tenon.h hold for every function. */
#ifndef TENON_ARROW_H
#define TENON_ARROW_H

#include "tenon_call.h"

/* --- the structs, as https://arrow.apache.org/docs/format/CDataInterface.html defines them ------------------------- */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *schema);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *array);
  void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *stream);
  void (*release)(struct ArrowArrayStream *stream);
  void *private_data;
};

#endif

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

#define ARROW_DEVICE_CPU 1

struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  int32_t device_type;
  void *sync_event;
  int64_t reserved[3];
};

#endif

typedef struct ArrowSchema tn_arrow_schema_t;
typedef struct ArrowArray tn_arrow_array_t;
typedef struct ArrowArrayStream tn_arrow_stream_t;
typedef struct ArrowDeviceArray tn_arrow_device_array_t;

/* --- arrow/owned.c: the structs that the JavaScript of a thread owns ------------------------------------------------ */

#define TN_ARROW_SCHEMA 0
#define TN_ARROW_ARRAY 1
#define TN_ARROW_STREAM 2

/* A struct that JavaScript owns, with its `release`, which is called when JavaScript releases it, and otherwise at the end of its thread. */
typedef struct tn_arrow_owned tn_arrow_owned_t;

/* Makes a struct of a kind, TN_ARROW_..., that is released already, for native code that fills it. out[0] is the tn_arrow_owned_t, out[1] the
 * struct. TN_CLOSED: the thread has no environment. */
TN_API int32_t tn_arrow_create(uint32_t kind, uint64_t *out);

/* Moves a struct: the copy is owned, and the source is released afterwards, as the interface says. TN_NOT_FOUND: it is released already. */
TN_API int32_t tn_arrow_take(uint32_t kind, void *source, uint64_t *out);

/* Calls `release` of the struct unless native code has moved or released it, and frees the struct. `release` runs code of others. On the
 * thread of the struct. */
TN_API void tn_arrow_release(tn_arrow_owned_t *owned);

/* --- arrow/export.c: structs over memory of JavaScript -------------------------------------------------------------- */

/* Fills an array. `words` describes its nodes, each before its children: length, null_count, offset, n_buffers and n_children, and then the
 * addresses of its buffers; `count` is their number. The children can be moved out, as the interface says.
 *
 * @param hold a hold of tn_hold_create() that is released with the last of the arrays, or null. Its reference is taken over, also if this fails.
 * @param own the addresses of `own_count` blocks of tn_memory_allocate(), which are freed then. They are taken over too. */
TN_API int32_t tn_arrow_export_array(const int64_t *words, uint64_t count, tn_callback_t *hold, const uint64_t *own,
                                     uint64_t own_count, tn_arrow_array_t *out);

/* Fills a schema with copies of texts. `words` describes its nodes, each before its children: the offsets in `texts` of its format, its name
 * and its metadata, or -1 for null; flags, and n_children. The texts end with NUL. */
TN_API int32_t tn_arrow_export_schema(const int64_t *words, uint64_t count, const char *texts, uint64_t text_size,
                                      tn_arrow_schema_t *out);

/* --- arrow/stream.c -------------------------------------------------------------------------------------------------- */

/* The longest text of an error of a stream, with its terminator. */
#define TN_ARROW_ERROR_SIZE 512

/* Fills a stream whose arrays TypeScript makes. `get_schema` and `get_next` are stubs that find the stream by `id`, which is the first word
 * of its private data. The hold is taken over, and released with the stream. */
TN_API int32_t tn_arrow_export_stream(void *get_schema, void *get_next, int64_t id, tn_callback_t *hold,
                                      tn_arrow_stream_t *out);

/* Sets the text that get_last_error() of a stream of tn_arrow_export_stream() returns until the next call. It is cut. */
TN_API void tn_arrow_fail(const tn_arrow_stream_t *stream, const char *text, uint64_t size);

/* The most bytes of the text of get_last_error() of any stream that are read. */
#define TN_ARROW_LONGEST_ERROR 4096

#endif
