/* Arrow arrays over memory of JavaScript, and schemas. The nodes of an array, with their lists, are one block, which ends with the last node
 * that is released: a consumer can move children out, and release them later, on any thread. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tenon_arrow.h"

typedef struct {
  atomic_size_t nodes; /* that are not released */
  tn_callback_t *hold;
  uint64_t *own;
  uint64_t own_count;
} block_t;

static void end_own(tn_callback_t *hold, const uint64_t *own, uint64_t own_count) {
  tn_callback_release(hold);
  for (uint64_t i = 0; i < own_count; i++) tn_memory_free((void *)(uintptr_t)own[i]);
}

static void leave(block_t *block) {
  if (atomic_fetch_sub(&block->nodes, 1) != 1) return;
  end_own(block->hold, block->own, block->own_count);
  free(block);
}

static void release_array(tn_arrow_array_t *array) {
  for (int64_t i = 0; i < array->n_children; i++)
    if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
  array->release = NULL;
  leave(array->private_data);
}

static void release_schema(tn_arrow_schema_t *schema) {
  for (int64_t i = 0; i < schema->n_children; i++)
    if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
  schema->release = NULL;
  leave(schema->private_data);
}

/* The numbers before the addresses of the buffers of an array, and all numbers of a schema. */
#define ARRAY_WORDS 5
#define SCHEMA_WORDS 5

/* The parts of a block. */
typedef struct {
  const int64_t *words;
  block_t *block;
  tn_arrow_array_t *arrays;
  tn_arrow_schema_t *schemas;
  void **pointers;
  const char *texts;
} parts_t;

/* Fills a node and those below it. The words are those of TypeScript, which has limited the depth. */
static void fill_array(parts_t *parts, tn_arrow_array_t *array) {
  const int64_t *words = parts->words;
  parts->words += ARRAY_WORDS + words[3];
  *array = (tn_arrow_array_t){.length = words[0],
                              .null_count = words[1],
                              .offset = words[2],
                              .n_buffers = words[3],
                              .n_children = words[4],
                              .buffers = (const void **)parts->pointers,
                              .children = (tn_arrow_array_t **)(void *)(parts->pointers + words[3]),
                              .release = release_array,
                              .private_data = parts->block};
  parts->pointers += words[3] + words[4];
  for (int64_t i = 0; i < array->n_buffers; i++) array->buffers[i] = (const void *)(uintptr_t)words[ARRAY_WORDS + i];
  for (int64_t i = 0; i < array->n_children; i++) {
    array->children[i] = parts->arrays++;
    fill_array(parts, array->children[i]);
  }
}

static const char *text_of(const parts_t *parts, int64_t offset) { return offset < 0 ? NULL : parts->texts + offset; }

static void fill_schema(parts_t *parts, tn_arrow_schema_t *schema) {
  const int64_t *words = parts->words;
  parts->words += SCHEMA_WORDS;
  *schema = (tn_arrow_schema_t){.format = text_of(parts, words[0]),
                                .name = text_of(parts, words[1]),
                                .metadata = text_of(parts, words[2]),
                                .flags = words[3],
                                .n_children = words[4],
                                .children = (tn_arrow_schema_t **)(void *)parts->pointers,
                                .release = release_schema,
                                .private_data = parts->block};
  parts->pointers += words[4];
  for (int64_t i = 0; i < schema->n_children; i++) {
    schema->children[i] = parts->schemas++;
    fill_schema(parts, schema->children[i]);
  }
}

/* A block with room for `nodes` structs of a size, besides that of the caller, pointers and other bytes. Null without memory. */
static block_t *new_block(size_t nodes, size_t node_size, size_t pointers, size_t bytes) {
  block_t *block = calloc(1, sizeof *block + nodes * node_size + pointers * sizeof(void *) + bytes);
  if (block != NULL) atomic_init(&block->nodes, nodes + 1);
  return block;
}

int32_t tn_arrow_export_array(const int64_t *words, uint64_t count, tn_callback_t *hold, const uint64_t *own,
                              uint64_t own_count, tn_arrow_array_t *out) {
  size_t nodes = 0, pointers = 0;
  for (uint64_t i = 0; i < count; i += ARRAY_WORDS + (uint64_t)words[i + 3]) {
    nodes++;
    pointers += (size_t)(words[i + 3] + words[i + 4]);
  }
  block_t *block = new_block(nodes - 1, sizeof *out, pointers, own_count * sizeof *own);
  if (block == NULL) {
    end_own(hold, own, own_count);
    return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate an Arrow array");
  }
  parts_t parts = {.words = words, .block = block, .arrays = (tn_arrow_array_t *)(void *)(block + 1)};
  parts.pointers = (void **)(void *)(parts.arrays + nodes - 1);
  block->hold = hold;
  block->own = (uint64_t *)(void *)(parts.pointers + pointers);
  block->own_count = own_count;
  if (own_count > 0) memcpy(block->own, own, own_count * sizeof *own);
  fill_array(&parts, out);
  return TN_OK;
}

int32_t tn_arrow_export_schema(const int64_t *words, uint64_t count, const char *texts, uint64_t text_size,
                               tn_arrow_schema_t *out) {
  const size_t nodes = count / SCHEMA_WORDS;
  block_t *block = new_block(nodes - 1, sizeof *out, nodes, text_size);
  if (block == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate an Arrow schema");
  parts_t parts = {.words = words, .block = block, .schemas = (tn_arrow_schema_t *)(void *)(block + 1)};
  parts.pointers = (void **)(void *)(parts.schemas + nodes - 1);
  parts.texts = (const char *)(parts.pointers + nodes);
  memcpy(parts.pointers + nodes, texts, text_size);
  fill_schema(&parts, out);
  return TN_OK;
}
