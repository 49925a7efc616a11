#include "check.h"
#include "support.h"

static tn_xla_call_frame_t seen; /* the frame that `look` was called with */

static tn_xla_error_t *look(tn_xla_call_frame_t *frame) {
  seen = *frame;
  return NULL;
}

static const tn_xla_bundle_v1_t looking = {NULL, NULL, NULL, look};

/* Two operands, one result, and an attribute of each kind. */
static void put_example(descriptor_t *d) {
  put_header(d, 3, 2, 1, 4, looking);
  put_buffer(d, TN_XLA_F32, 2, (const int64_t[]){2, 3});
  put_buffer(d, TN_XLA_S64, 0, NULL);
  put_buffer(d, TN_XLA_U8, 1, (const int64_t[]){7});
  put_name(d, TN_XLA_ARRAY, "a");
  put_u32s(d, TN_XLA_S16, 0);
  put_u64(d, 3);
  put(d, (const int16_t[]){1, -2, 3}, 6);
  put_name(d, TN_XLA_DICTIONARY, "b");
  put_u32s(d, 1, 0);
  put_scalar(d, "inner", TN_XLA_F64, &(double){2.5});
  put_scalar(d, "c", TN_XLA_C128, (const double[]){1, -1});
  put_name(d, TN_XLA_STRING, "d");
  put_u64(d, 4);
  put(d, "a\0bc", 4);
}

TEST(frame_has_sizes_types_and_pointers_of_the_abi) {
  descriptor_t d;
  put_example(&d);
  void *call = prepare(&d);
  CHECK(call != NULL);
  CHECK(tn_xla_execute(call) == TN_OK);
  CHECK(seen.struct_size == 168 && seen.stage == TN_XLA_EXECUTE && seen.future == NULL && seen.extension_start == NULL);
  CHECK(seen.args.struct_size == 40 && seen.rets.struct_size == 40 && seen.attrs.struct_size == 48);
  CHECK(seen.args.size == 2 && seen.rets.size == 1 && seen.attrs.size == 4);
  CHECK(seen.args.types[0] == TN_XLA_BUFFER && seen.args.types[1] == TN_XLA_BUFFER && seen.rets.types[0] == TN_XLA_BUFFER);
  const tn_xla_buffer_t *first = seen.args.args[0];
  CHECK(seen.args.args[1] == first + 1 && seen.rets.rets[0] == first + 2);
  for (int i = 0; i < 3; i++) CHECK(memcmp(&first[i], buffer_of(call, i), sizeof *first) == 0 && &first[i] != buffer_of(call, i));
  CHECK(first->struct_size == 48 && first->dtype == TN_XLA_F32 && first->rank == 2 && first->data == NULL);
  CHECK(first->dims[0] == 2 && first->dims[1] == 3);
  CHECK(buffer_of(call, 1)->rank == 0 && buffer_of(call, 1)->dims != NULL);
  CHECK(buffer_of(call, 2)->dtype == TN_XLA_U8 && buffer_of(call, 2)->dims[0] == 7);
  finish(call);
}

TEST(frame_gets_the_dimensions_that_a_caller_sets) {
  descriptor_t d;
  put_example(&d);
  void *call = prepare(&d);
  CHECK(call != NULL);
  int64_t *dims = dims_of(call);
  CHECK(dims[0] == 2 && dims[1] == 3 && dims[2] == 0 && dims[3] == 7);
  for (int64_t run = 1; run < 4; run++) {
    dims[0] = run;
    dims[1] = run << 40;
    dims[3] = 0;
    CHECK(tn_xla_execute(call) == TN_OK);
    const tn_xla_buffer_t *first = seen.args.args[0];
    CHECK(first->dims != dims && first->rank == 2 && first->dims[0] == run && first->dims[1] == run << 40);
    CHECK(first[2].rank == 1 && first[2].dims[0] == 0 && tn_xla_frame_written(call) == 0);
    /* Values that a handler writes there do not reach the next run. */
    first->dims[0] = 99;
    CHECK(tn_xla_frame_written(call) == 1);
  }
  finish(call);
}

TEST(frame_carries_every_kind_of_attribute) {
  descriptor_t d;
  put_example(&d);
  void *call = prepare(&d);
  CHECK(call != NULL && tn_xla_execute(call) == TN_OK);
  const tn_xla_attrs_t *attrs = &seen.attrs;
  const int32_t kinds[] = {TN_XLA_ARRAY, TN_XLA_DICTIONARY, TN_XLA_SCALAR, TN_XLA_STRING};
  for (int i = 0; i < 4; i++) {
    CHECK(attrs->types[i] == kinds[i]);
    CHECK(attrs->names[i]->len == 1 && attrs->names[i]->ptr[0] == "abcd"[i]);
  }
  const tn_xla_array_t *array = attrs->attrs[0];
  CHECK(array->dtype == TN_XLA_S16 && array->size == 3 && ((const int16_t *)array->data)[1] == -2);
  const tn_xla_attrs_t *dictionary = attrs->attrs[1];
  CHECK(dictionary->struct_size == 48 && dictionary->size == 1 && dictionary->types[0] == TN_XLA_SCALAR);
  CHECK(dictionary->names[0]->len == 5 && memcmp(dictionary->names[0]->ptr, "inner", 5) == 0);
  const tn_xla_scalar_t *inner = dictionary->attrs[0];
  CHECK(inner->dtype == TN_XLA_F64 && *(const double *)inner->value == 2.5);
  const tn_xla_scalar_t *complex = attrs->attrs[2];
  CHECK(complex->dtype == TN_XLA_C128 && ((const double *)complex->value)[1] == -1);
  const tn_xla_span_t *string = attrs->attrs[3];
  CHECK(string->len == 4 && memcmp(string->ptr, "a\0bc", 4) == 0);
  finish(call);
}

TEST(frame_does_not_point_into_the_descriptor) {
  descriptor_t d;
  put_example(&d);
  void *call = prepare(&d);
  CHECK(call != NULL);
  memset(d.bytes, 0xff, sizeof d.bytes);
  CHECK(tn_xla_execute(call) == TN_OK);
  CHECK(seen.attrs.names[3]->ptr[0] == 'd' && buffer_of(call, 0)->dims[1] == 3);
  finish(call);
}

TEST(every_truncation_of_a_descriptor_is_refused) {
  descriptor_t d;
  put_example(&d);
  size_t needed = 0;
  for (size_t size = 0; size < d.size; size++) {
    CHECK(tn_xla_frame_size(d.bytes, size, &needed) == TN_INVALID_ARGUMENT);
    CHECK(strstr(tn_last_error(), "the descriptor ends inside") != NULL ||
          strstr(tn_last_error(), "an attribute must have a name") != NULL);
  }
  CHECK(tn_xla_frame_size(d.bytes, d.size, &needed) == TN_OK);
  CHECK(tn_xla_frame_size(d.bytes, d.size + 8, &needed) == TN_INVALID_ARGUMENT);
  CHECK(strstr(tn_last_error(), "the descriptor has 8 bytes after its end") != NULL);
}

static int refused(const descriptor_t *d, const char *because) {
  size_t size = 0;
  return tn_xla_frame_size(d->bytes, d->size, &size) == TN_INVALID_ARGUMENT && strstr(tn_last_error(), because) != NULL;
}

TEST(a_malformed_descriptor_is_refused_with_a_reason) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 0, (tn_xla_bundle_v1_t){look, NULL, NULL, NULL});
  CHECK(refused(&d, "execute stage"));
  put_header(&d, 3, 0, 0, 0, looking);
  d.bytes[0] ^= 1;
  CHECK(refused(&d, "magic number"));
  put_header(&d, 3, UINT32_MAX, UINT32_MAX, 0, looking);
  CHECK(refused(&d, "ends inside the buffers"));
  put_header(&d, 3, 0, 0, UINT32_MAX, looking);
  CHECK(refused(&d, "ends inside the attributes"));
  put_header(&d, 3, 1, 0, 0, looking);
  put_buffer(&d, 13, 0, NULL);
  CHECK(refused(&d, "must be one of XLA, got 13"));
  put_header(&d, 3, 1, 0, 0, looking);
  put_u32s(&d, TN_XLA_F32, UINT32_MAX);
  CHECK(refused(&d, "dimensions"));
  put_header(&d, 3, 1, 0, 0, looking);
  put_buffer(&d, TN_XLA_F32, 1, (const int64_t[]){-1});
  CHECK(refused(&d, "negative"));
}

TEST(a_malformed_attribute_is_refused_with_a_reason) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 1, looking);
  put_name(&d, 5, "kind");
  put_u64(&d, 0);
  CHECK(refused(&d, "unknown kind 5"));
  put_header(&d, 3, 0, 0, 1, looking);
  put_name(&d, TN_XLA_SCALAR, "size");
  put_u32s(&d, TN_XLA_F32, 8);
  put_u64(&d, 0);
  CHECK(refused(&d, "got 8 bytes"));
  put_header(&d, 3, 0, 0, 1, looking);
  put_name(&d, TN_XLA_ARRAY, "count");
  put_u32s(&d, TN_XLA_F64, 0);
  put_u64(&d, UINT64_MAX / 8 + 2); /* multiplied by 8 it would wrap around */
  put_u64(&d, 0);
  CHECK(refused(&d, "inside an array"));
  put_header(&d, 3, 0, 0, 1, looking);
  put_name(&d, TN_XLA_STRING, "length");
  put_u64(&d, UINT64_MAX - 3); /* rounded up to 8 it would wrap around */
  CHECK(refused(&d, "inside a string"));
  put_header(&d, 3, 0, 0, 1, looking);
  put_name(&d, TN_XLA_STRING, "");
  put_u64(&d, 0);
  CHECK(refused(&d, "must have a name"));
}

TEST(attributes_must_be_sorted_and_unique) {
  descriptor_t d;
  put_header(&d, 3, 0, 0, 2, looking);
  put_scalar(&d, "b", TN_XLA_PRED, "\1");
  put_scalar(&d, "a", TN_XLA_PRED, "\1");
  CHECK(refused(&d, "sorted by name"));
  put_header(&d, 3, 0, 0, 2, looking);
  put_scalar(&d, "a", TN_XLA_PRED, "\1");
  put_scalar(&d, "a", TN_XLA_PRED, "\1");
  CHECK(refused(&d, "without duplicates"));
  put_header(&d, 3, 0, 0, 3, looking); /* in the order of bytes: a prefix first, bytes above 0x7f last */
  put_scalar(&d, "a", TN_XLA_PRED, "\1");
  put_scalar(&d, "ab", TN_XLA_PRED, "\1");
  put_scalar(&d, "\xc3\xa9", TN_XLA_PRED, "\1");
  size_t size = 0;
  CHECK(tn_xla_frame_size(d.bytes, d.size, &size) == TN_OK);
}

TEST(the_depth_of_dictionaries_is_limited) {
  for (int depth = 15; depth <= 17; depth++) {
    descriptor_t d;
    put_header(&d, 3, 0, 0, 1, looking);
    for (int i = 0; i < depth; i++) {
      put_name(&d, TN_XLA_DICTIONARY, "deeper");
      put_u32s(&d, 1, 0);
    }
    put_scalar(&d, "end", TN_XLA_PRED, "\1");
    size_t size = 0;
    CHECK(tn_xla_frame_size(d.bytes, d.size, &size) == (depth <= 16 ? TN_OK : TN_INVALID_ARGUMENT));
  }
}

static int is_untouched(const tn_xla_call_frame_t *frame) {
  if (frame->struct_size != TN_XLA_SIZE_CALL_FRAME || frame->api == NULL || frame->ctx == NULL || frame->future != NULL) return 0;
  if (frame->args.size != 0 || frame->rets.size != 1 || frame->attrs.size != 1) return 0;
  const tn_xla_buffer_t *result = frame->rets.rets[0];
  if (frame->rets.types[0] != TN_XLA_BUFFER || result == NULL || result->data != &seen || result->dtype != TN_XLA_F32) return 0;
  if (result->rank != 2 || result->dims[0] != 2 || result->dims[1] != 3) return 0;
  const tn_xla_span_t *name = frame->attrs.names[0];
  const tn_xla_scalar_t *k = frame->attrs.attrs[0];
  return name->len == 1 && name->ptr[0] == 'k' && frame->attrs.types[0] == TN_XLA_SCALAR && k->dtype == TN_XLA_S32 &&
         *(const int32_t *)k->value == 5;
}

/* Writes to each kind of words of the frame, if no word has changed yet. */
static tn_xla_error_t *check_and_write(tn_xla_call_frame_t *frame) {
  if (!is_untouched(frame)) return tn_xla_fail(frame, TN_XLA_INTERNAL, "a word of the frame has changed");
  tn_xla_buffer_t *result = frame->rets.rets[0];
  result->dims[1] = result->rank = result->dtype = 99;
  result->data = NULL;
  tn_xla_scalar_t *k = frame->attrs.attrs[0];
  *(int32_t *)k->value = k->dtype = 99;
  *(char *)(uintptr_t)frame->attrs.names[0]->ptr = 'x';
  frame->attrs.names[0]->len = 0;
  frame->rets.types[0] = frame->attrs.types[0] = 99;
  frame->rets.rets[0] = frame->attrs.attrs[0] = NULL;
  memset(frame, 0, sizeof *frame);
  return NULL;
}

static void check_written_frame(tn_xla_bundle_v1_t handlers) {
  descriptor_t d;
  put_header(&d, 1, 0, 1, 1, handlers);
  put_buffer(&d, TN_XLA_F32, 2, (const int64_t[]){2, 3});
  put_scalar(&d, "k", TN_XLA_S32, &(int32_t){5});
  void *call = prepare(&d);
  CHECK(call != NULL && tn_xla_frame_written(call) == 0);
  buffer_of(call, 0)->data = &seen;
  for (int i = 0; i < 3; i++) CHECK(tn_xla_execute(call) == TN_OK && tn_xla_frame_written(call) == 1);
  tn_xla_batch_entry_t entries[2] = {{.call = call, .is_typed = 1}, {.call = call, .is_typed = 1}};
  tn_xla_batch_t batch = {.entries = entries, .count = 2};
  CHECK(tn_xla_execute_batch(&batch) == TN_OK);
  finish(call);
}

TEST(each_stage_gets_all_words_of_its_frame_whatever_the_one_before_wrote) {
  check_written_frame((tn_xla_bundle_v1_t){NULL, NULL, NULL, check_and_write});
  check_written_frame((tn_xla_bundle_v1_t){NULL, check_and_write, check_and_write, check_and_write});
}

TEST(a_frame_is_written_if_a_handler_has_changed_a_word_of_it) {
  descriptor_t d;
  put_example(&d);
  void *call = prepare(&d);
  CHECK(call != NULL && tn_xla_execute(call) == TN_OK && tn_xla_frame_written(call) == 0);
  /* The last byte of the last attribute, "a\0bc". */
  const tn_xla_span_t *last = seen.attrs.attrs[3];
  ((char *)(uintptr_t)last->ptr)[3] = 'x';
  CHECK(tn_xla_frame_written(call) == 1);
  CHECK(tn_xla_execute(call) == TN_OK && tn_xla_frame_written(call) == 0 && last->ptr[3] == 'c');
  finish(call);
}

TEST(memory_for_a_frame_is_checked) {
  descriptor_t d;
  put_example(&d);
  size_t size = 0;
  CHECK(tn_xla_frame_size(d.bytes, d.size, &size) == TN_OK && size % 64 == 0);
  uint8_t *memory = NULL;
  CHECK(tn_memory_allocate(size + 64, 64, (void **)&memory) == TN_OK);
  memset(memory, 0xa5, size + 64);
  CHECK(tn_xla_frame_build(d.bytes, d.size, NULL, size) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_frame_build(d.bytes, d.size, memory + 8, size) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_frame_build(d.bytes, d.size, memory, size - 1) == TN_INVALID_ARGUMENT);
  CHECK(memory[0] == 0xa5); /* nothing was written */
  CHECK(tn_xla_frame_build(d.bytes, d.size, memory, size) == TN_OK);
  CHECK(memory[size] == 0xa5);
  CHECK(tn_xla_frame_size(d.bytes + 4, 64, &size) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_frame_size(d.bytes, d.size, NULL) == TN_INVALID_ARGUMENT);
  tn_memory_free(memory);
}
