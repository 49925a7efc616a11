/* The frame builder, which turns a compact descriptor into a block of memory with a prepared call.
 *
 * Numbers are in the byte order of the machine, and every record starts at a multiple of 8:
 *
 *   header      tn_xla_descriptor_t
 *   buffers     operands, then results: i32 dtype, u32 rank, i64 dimensions
 *   attributes  sorted by the bytes of their names, no name twice:
 *               u32 kind, u32 length of the name, name, and by kind
 *                 scalar      i32 dtype, u32 size, bytes
 *                 array       i32 dtype, u32 0, u64 elements, bytes
 *                 string      u64 length, bytes
 *                 dictionary  u32 attributes, u32 0, attributes
 *
 * The descriptor is not trusted. The same functions count (without memory) and write. */
#include "internal.h"
#include "tenon/xla_handler.h"

#define LARGEST_DESCRIPTOR ((size_t)1 << 30)

typedef struct {
  const uint8_t *at;
  size_t left;
} source_t;

/* The start of most records: a dtype or a kind, and a rank, size or length. */
typedef struct {
  int32_t type;
  uint32_t length;
} record_t;

/* The block; `memory` is null while its size is counted. */
typedef struct {
  uint8_t *memory;
  size_t used;
} block_t;

static size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

/* Takes the next `size` bytes and their padding to 8. Null if the descriptor ends before. */
static const void *next(source_t *source, size_t size) {
  if (size > source->left || align_up(size, 8) > source->left) return NULL;
  const void *found = source->at;
  source->at += align_up(size, 8);
  source->left -= align_up(size, 8);
  return found;
}

/* Reserves `count` items of `size` bytes. A descriptor of at most a gibibyte cannot make this overflow. */
static void *take(block_t *block, size_t count, size_t size, size_t alignment) {
  const size_t offset = align_up(block->used, alignment);
  block->used = offset + count * size;
  return block->memory == NULL ? NULL : block->memory + offset;
}

static int32_t truncated(const char *what) {
  return tn__fail(TN_INVALID_ARGUMENT, "the descriptor ends inside %s", what);
}

static int32_t lay_buffer(source_t *source, block_t *block, tn_xla_buffer_t *buffer) {
  const record_t *record = next(source, sizeof *record);
  if (record == NULL) return truncated("a buffer");
  const int32_t dtype = record->type;
  const uint32_t rank = record->length;
  TN_REQUIRE(tn_xla_dtype_size(dtype) != 0 || dtype == TN_XLA_TOKEN,
             "the dtype of a buffer must be one of XLA, got %d", (int)dtype);
  if (rank > source->left / sizeof(int64_t)) return truncated("the dimensions of a buffer");
  const int64_t *dims = next(source, rank * sizeof *dims);
  /* The pointer can be followed even for rank 0. */
  int64_t *copy = take(block, rank == 0 ? 1 : rank, sizeof *copy, 8);
  for (uint32_t i = 0; i < rank; i++) {
    TN_REQUIRE(dims[i] >= 0, "a dimension must not be negative, got %lld", (long long)dims[i]);
    if (copy != NULL) copy[i] = dims[i];
  }
  if (buffer != NULL) *buffer = (tn_xla_buffer_t){sizeof *buffer, NULL, dtype, NULL, rank, copy};
  return TN_OK;
}

static int32_t lay_buffers(source_t *source, block_t *block, tn__xla_call_t *call, const tn_xla_descriptor_t *header) {
  const size_t count = (size_t)header->operands + header->results;
  if (count > source->left / 8) return truncated("the buffers");
  tn_xla_buffer_t *buffers = take(block, count, sizeof *buffers, 8);
  void **pointers = take(block, count, sizeof *pointers, 8);
  int32_t *types = take(block, count, sizeof *types, 8);
  const size_t dims = align_up(block->used, 8);
  for (size_t i = 0; i < count; i++) {
    TN_TRY(lay_buffer(source, block, call == NULL ? NULL : &buffers[i]));
    if (call == NULL) continue;
    pointers[i] = &buffers[i];
    types[i] = TN_XLA_BUFFER;
  }
  if (call == NULL) return TN_OK;
  call->head.buffers_offset = (uint32_t)((uint8_t *)buffers - (uint8_t *)&call->frame);
  call->head.dims_offset = (uint32_t)(dims - offsetof(tn__xla_call_t, frame));
  call->frame.args = (tn_xla_args_t){sizeof call->frame.args, NULL, header->operands, types, pointers};
  call->frame.rets = (tn_xla_rets_t){sizeof call->frame.rets, NULL, header->results, types + header->operands,
                                     pointers + header->operands};
  return TN_OK;
}

static int32_t lay_attrs(source_t *source, block_t *block, tn_xla_attrs_t *out, uint32_t count, int depth);

/* Copies the next `size` bytes of the descriptor into the block. `*out` is null while counting. */
static int32_t lay_bytes(source_t *source, block_t *block, uint64_t size, void **out, const char *what) {
  const void *bytes = size > source->left ? NULL : next(source, (size_t)size);
  if (bytes == NULL) return truncated(what);
  *out = take(block, (size_t)size, 1, 16);
  if (*out != NULL && size > 0) memcpy(*out, bytes, (size_t)size);
  return TN_OK;
}

static int32_t lay_scalar(source_t *source, block_t *block, void **out) {
  const record_t *record = next(source, sizeof *record);
  if (record == NULL) return truncated("a scalar");
  TN_REQUIRE(record->length != 0 && record->length == tn_xla_dtype_size(record->type),
             "a scalar of dtype %d must have its size, got %u bytes", (int)record->type, record->length);
  tn_xla_scalar_t *scalar = take(block, 1, sizeof *scalar, 8);
  void *value = NULL;
  TN_TRY(lay_bytes(source, block, record->length, &value, "a scalar"));
  if (scalar != NULL) *scalar = (tn_xla_scalar_t){record->type, value};
  *out = scalar;
  return TN_OK;
}

static int32_t lay_array(source_t *source, block_t *block, void **out) {
  const record_t *record = next(source, sizeof *record);
  const uint64_t *count = record == NULL ? NULL : next(source, sizeof *count);
  if (count == NULL) return truncated("an array");
  const int32_t dtype = record->type;
  const size_t size = tn_xla_dtype_size(dtype);
  TN_REQUIRE(size != 0, "the dtype of an array must be one of XLA, got %d", (int)dtype);
  if (*count > source->left / size) return truncated("an array");
  tn_xla_array_t *array = take(block, 1, sizeof *array, 8);
  void *data = NULL;
  TN_TRY(lay_bytes(source, block, *count * size, &data, "an array"));
  if (array != NULL) *array = (tn_xla_array_t){dtype, (size_t)*count, data};
  *out = array;
  return TN_OK;
}

static int32_t lay_string(source_t *source, block_t *block, void **out) {
  const uint64_t *length = next(source, sizeof *length);
  if (length == NULL) return truncated("a string");
  tn_xla_span_t *span = take(block, 1, sizeof *span, 8);
  void *bytes = NULL;
  TN_TRY(lay_bytes(source, block, *length, &bytes, "a string"));
  if (span != NULL) *span = (tn_xla_span_t){bytes, (size_t)*length};
  *out = span;
  return TN_OK;
}

static int32_t lay_dictionary(source_t *source, block_t *block, void **out, int depth) {
  const uint32_t *count = next(source, 2 * sizeof *count);
  if (count == NULL) return truncated("a dictionary");
  tn_xla_attrs_t *attrs = take(block, 1, sizeof *attrs, 8);
  *out = attrs;
  return lay_attrs(source, block, attrs, *count, depth + 1);
}

static int32_t lay_value(source_t *source, block_t *block, int32_t kind, void **out, int depth) {
  if (kind == TN_XLA_SCALAR) return lay_scalar(source, block, out);
  if (kind == TN_XLA_ARRAY) return lay_array(source, block, out);
  if (kind == TN_XLA_STRING) return lay_string(source, block, out);
  if (kind == TN_XLA_DICTIONARY) return lay_dictionary(source, block, out, depth);
  return tn__fail(TN_INVALID_ARGUMENT, "unknown kind %d of an attribute", (int)kind);
}

/* Returns whether `name` comes after `previous`, if there is one, in the order of bytes. */
static int is_after(const tn_xla_span_t *name, const tn_xla_span_t *previous) {
  if (previous->ptr == NULL) return 1;
  const size_t shared = name->len < previous->len ? name->len : previous->len;
  const int order = memcmp(name->ptr, previous->ptr, shared);
  return order > 0 || (order == 0 && name->len > previous->len);
}

static int32_t lay_name(source_t *source, block_t *block, uint32_t length, tn_xla_span_t *previous,
                        tn_xla_span_t *out) {
  const tn_xla_span_t name = {next(source, length), length};
  TN_REQUIRE(name.ptr != NULL && length != 0, "an attribute must have a name");
  TN_REQUIRE(is_after(&name, previous),
             "attributes must be sorted by name without duplicates, got %.*s", (int)length, name.ptr);
  *previous = name;
  char *copy = take(block, length, 1, 1);
  if (copy == NULL) return TN_OK;
  memcpy(copy, name.ptr, length);
  *out = (tn_xla_span_t){copy, length};
  return TN_OK;
}

static int32_t lay_attrs(source_t *source, block_t *block, tn_xla_attrs_t *out, uint32_t count, int depth) {
  TN_REQUIRE(depth <= TN_XLA_DEEPEST, "dictionaries must be nested at most %d deep", TN_XLA_DEEPEST);
  if (count > source->left / 16) return truncated("the attributes");
  tn_xla_span_t **names = take(block, count, sizeof *names, 8);
  void **values = take(block, count, sizeof *values, 8);
  tn_xla_span_t *spans = take(block, count, sizeof *spans, 8);
  int32_t *types = take(block, count, sizeof *types, 8);
  tn_xla_span_t previous = {NULL, 0};
  for (uint32_t i = 0; i < count; i++) {
    const record_t *record = next(source, sizeof *record);
    if (record == NULL) return truncated("an attribute");
    TN_TRY(lay_name(source, block, record->length, &previous, spans == NULL ? NULL : &spans[i]));
    void *value = NULL;
    TN_TRY(lay_value(source, block, record->type, &value, depth));
    if (out == NULL) continue;
    names[i] = &spans[i];
    values[i] = value;
    types[i] = record->type;
  }
  if (out != NULL) *out = (tn_xla_attrs_t){sizeof *out, NULL, count, types, names, values};
  return TN_OK;
}

static int32_t lay(const void *descriptor, size_t size, block_t *block) {
  source_t source = {descriptor, size};
  TN_REQUIRE(descriptor != NULL && (uintptr_t)descriptor % 8 == 0 && size <= LARGEST_DESCRIPTOR,
             "a descriptor must be aligned to 8 bytes and at most 1 GiB long");
  const tn_xla_descriptor_t *header = next(&source, sizeof *header);
  if (header == NULL) return truncated("its header");
  TN_REQUIRE(header->magic == TN_XLA_DESCRIPTOR_MAGIC, "the descriptor must start with its magic number");
  TN_REQUIRE(header->handlers[TN_XLA_EXECUTE] != 0, "a call must have a handler for the execute stage");
  tn__xla_call_t *call = take(block, 1, sizeof *call, 64);
  TN_TRY(lay_buffers(&source, block, call, header));
  TN_TRY(lay_attrs(&source, block, call == NULL ? NULL : &call->frame.attrs, header->attributes, 0));
  TN_REQUIRE(source.left == 0, "the descriptor has %zu bytes after its end", source.left);
  if (call == NULL) return TN_OK;
  memcpy(&call->handlers, header->handlers, sizeof call->handlers);
  call->context.owner = &call->context;
  call->context.device_ordinal = header->device_ordinal;
  call->frame.struct_size = TN_XLA_SIZE_CALL_FRAME;
  call->frame.api = tn__xla_api((int32_t)(header->minor > TN_XLA_NEWEST_MINOR ? TN_XLA_NEWEST_MINOR : header->minor));
  call->frame.ctx = &call->context;
  call->frame.stage = TN_XLA_EXECUTE;
  return TN_OK;
}

/* The image starts with the frame. */
static size_t image_offset(const block_t *block) { return align_up(block->used, 32); }
static size_t image_size(const block_t *block) { return block->used - offsetof(tn__xla_call_t, frame); }

/* Copies what handlers get behind it. From here on the offsets are those of the copies. */
static void lay_image(const block_t *block) {
  tn__xla_call_t *call = (tn__xla_call_t *)(void *)block->memory;
  const size_t offset = image_offset(block);
  call->image_size = image_size(block);
  call->image = memcpy(block->memory + offset, &call->frame, call->image_size);
  call->head.buffers_offset += (uint32_t)offset;
  call->head.dims_offset += (uint32_t)offset;
}

int32_t tn_xla_frame_written(const void *memory) {
  const tn__xla_call_t *call = memory;
  const uint8_t *image = call->image;
  tn_xla_call_frame_t frame, original;
  memcpy(&frame, &call->frame, sizeof frame);
  memcpy(&original, image, sizeof original);
  frame.stage = original.stage;
  frame.future = original.future;
  const size_t rest = sizeof frame;
  return memcmp(&frame, &original, rest) != 0 ||
         memcmp((const uint8_t *)&call->frame + rest, image + rest, call->image_size - rest) != 0;
}

int32_t tn_xla_frame_size(const void *descriptor, size_t descriptor_size, size_t *out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  block_t block = {NULL, 0};
  const int32_t status = lay(descriptor, descriptor_size, &block);
  if (status != TN_OK) return status;
  *out = align_up(image_offset(&block) + image_size(&block), 64);
  TN_REQUIRE(*out <= UINT32_MAX, "a frame must have less than 4 GiB, got %zu bytes", *out);
  return TN_OK;
}

int32_t tn_xla_frame_build(const void *descriptor, size_t descriptor_size, void *memory, size_t memory_size) {
  size_t needed = 0;
  TN_TRY(tn_xla_frame_size(descriptor, descriptor_size, &needed));
  TN_REQUIRE(memory != NULL && (uintptr_t)memory % 64 == 0 && memory_size >= needed,
             "memory must have %zu bytes aligned to 64", needed);
  memset(memory, 0, needed);
  block_t block = {memory, 0};
  TN_TRY(lay(descriptor, descriptor_size, &block));
  lay_image(&block);
  return TN_OK;
}
