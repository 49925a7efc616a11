/* The Arrow structs of a thread, and structs over its memory. */
#include <stdatomic.h>

#include "check.h"
#include "environment.h"
#include "tenon_arrow.h"

enum { HOLD_ID = 9 };

static int releases;

static void count_release(tn_arrow_array_t *array) {
  releases++;
  array->release = NULL;
}

TEST(a_struct_is_moved_and_released_once) {
  environment_t *environment = environment_open();
  tn_arrow_array_t source = {.length = 7, .release = count_release};
  uint64_t out[2];
  releases = 0;
  CHECK(tn_arrow_take(TN_ARROW_ARRAY, &source, out) == TN_OK);
  CHECK(source.release == NULL && ((tn_arrow_array_t *)(uintptr_t)out[1])->length == 7 && releases == 0);
  uint64_t again[2];
  CHECK(tn_arrow_take(TN_ARROW_ARRAY, &source, again) == TN_NOT_FOUND);
  tn_arrow_release((tn_arrow_owned_t *)(uintptr_t)out[0]);
  CHECK(releases == 1);
  environment_close(environment);
}

TEST(a_struct_that_its_consumer_has_moved_is_not_released) {
  environment_t *environment = environment_open();
  uint64_t out[2];
  releases = 0;
  CHECK(tn_arrow_create(TN_ARROW_ARRAY, out) == TN_OK);
  tn_arrow_array_t *made = (tn_arrow_array_t *)(uintptr_t)out[1];
  CHECK(made->release == NULL);
  made->release = count_release;
  tn_arrow_array_t consumer = *made;
  made->release = NULL;
  tn_arrow_release((tn_arrow_owned_t *)(uintptr_t)out[0]);
  CHECK(releases == 0);
  consumer.release(&consumer);
  environment_close(environment);
}

TEST(the_end_of_a_thread_releases_what_it_owns) {
  environment_t *environment = environment_open();
  uint64_t out[2];
  releases = 0;
  for (int i = 0; i < 3; i++) {
    tn_arrow_array_t source = {.release = count_release};
    CHECK(tn_arrow_take(TN_ARROW_ARRAY, &source, out) == TN_OK);
  }
  tn_arrow_release((tn_arrow_owned_t *)(uintptr_t)out[0]);
  CHECK(releases == 1);
  environment_close(environment);
  CHECK(releases == 3);
  CHECK(tn_arrow_create(TN_ARROW_ARRAY, out) == TN_CLOSED);
}

static atomic_int taken;

static int take_released(environment_t *environment) {
  (void)environment;
  int64_t id = 0;
  size_t count = 0;
  tn_callbacks_take_released(&id, 1, &count);
  atomic_store(&taken, count == 1 && id == HOLD_ID);
  return RETURNS;
}

/* An array of two columns, whose memory the caller has. */
static const int64_t two_columns[] = {3, 0, 0, 1, 2, 0, /**/ 3, 0, 0, 2, 0, 0, 4096, /**/ 3, 1, 0, 2, 0, 8192, 12288};

static void *release(void *array) {
  ((tn_arrow_array_t *)array)->release(array);
  return NULL;
}

TEST(an_exported_array_is_held_until_the_last_child_is_released) {
  environment_t *environment = environment_open();
  tn_callback_t *hold = NULL;
  test_thread_t thread;
  void *own = NULL;
  tn_arrow_array_t array;
  atomic_store(&taken, 0);
  environment->functions[TAKE_RELEASED] = take_released;
  CHECK(tn_hold_create(HOLD_ID, &hold) == TN_OK && tn_memory_allocate(64, 64, &own) == TN_OK);
  const uint64_t copies[] = {(uintptr_t)own};
  CHECK(tn_arrow_export_array(two_columns, sizeof two_columns / sizeof *two_columns, hold, copies, 1, &array) == TN_OK);
  CHECK(array.length == 3 && array.n_children == 2 && array.n_buffers == 1 && array.buffers[0] == NULL);
  CHECK(array.children[0]->buffers[1] == (void *)4096 && array.children[1]->null_count == 1);
  CHECK(array.children[1]->buffers[0] == (void *)8192 && array.children[1]->buffers[1] == (void *)12288);
  tn_arrow_array_t child = *array.children[1];
  array.children[1]->release = NULL;
  array.release(&array);
  CHECK(array.release == NULL);
  environment_turn(environment);
  CHECK(atomic_load(&taken) == 0);
  CHECK(child.buffers[1] == (void *)12288);
  /* Another thread releases the rest, and wakes the event loop. */
  thread_start(&thread, release, &child);
  CHECK(environment_serve_until(environment, &taken));
  thread_join(&thread);
  environment_close(environment);
}

TEST(an_array_that_outlives_its_thread_can_be_released) {
  environment_t *environment = environment_open();
  tn_callback_t *hold = NULL;
  tn_arrow_array_t array;
  CHECK(tn_hold_create(HOLD_ID, &hold) == TN_OK);
  CHECK(tn_arrow_export_array(two_columns, sizeof two_columns / sizeof *two_columns, hold, NULL, 0, &array) == TN_OK);
  environment_close(environment);
  array.release(&array);
  CHECK(array.release == NULL);
}

TEST(a_schema_has_copies_of_its_texts) {
  const int64_t words[] = {0, 3, -1, 2, 1, /**/ 4, 6, -1, 2, 0};
  char texts[] = "+s\0\0l\0x";
  tn_arrow_schema_t schema;
  CHECK(tn_arrow_export_schema(words, 10, texts, sizeof texts, &schema) == TN_OK);
  memset(texts, 'z', sizeof texts);
  CHECK(strcmp(schema.format, "+s") == 0 && schema.name[0] == 0 && schema.metadata == NULL && schema.n_children == 1);
  CHECK(strcmp(schema.children[0]->format, "l") == 0 && strcmp(schema.children[0]->name, "x") == 0);
  CHECK(schema.children[0]->flags == ARROW_FLAG_NULLABLE);
  schema.release(&schema);
  CHECK(schema.release == NULL);
}

TEST(a_stream_says_why_it_failed) {
  environment_t *environment = environment_open();
  tn_callback_t *hold = NULL;
  tn_arrow_stream_t stream;
  CHECK(tn_hold_create(HOLD_ID, &hold) == TN_OK);
  CHECK(tn_arrow_export_stream(NULL, NULL, 5, hold, &stream) == TN_OK);
  CHECK(*(int64_t *)stream.private_data == 5);
  CHECK(strstr(stream.get_last_error(&stream), "asynchronous") != NULL);
  char text[2 * TN_ARROW_ERROR_SIZE];
  memset(text, 'x', sizeof text);
  tn_arrow_fail(&stream, text, sizeof text);
  CHECK(strlen(stream.get_last_error(&stream)) == TN_ARROW_ERROR_SIZE - 1);
  tn_arrow_fail(&stream, "no", 2);
  CHECK(strcmp(stream.get_last_error(&stream), "no") == 0);
  stream.release(&stream);
  environment_close(environment);
}
