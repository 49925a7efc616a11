/* pools/posix/thread_memory.c: what the end of a thread of JavaScript closes. */
#if defined(__linux__)
#include <fcntl.h>

#include "check.h"
#include "environment.h"
#include "tenon_pools.h"

#define SIZE 8192

typedef struct {
  int32_t descriptor;
  void *address;
  tn_thread_memory_t *entry;
} memory_t;

static bool open_memory(memory_t *made) {
  return tn_shared_memory_create(SIZE, "test", 4, &made->descriptor) == TN_OK &&
         tn_mapping_open(made->descriptor, 0, SIZE, TN_MAPPING_SHARED, &made->address) == TN_OK &&
         tn_thread_memory_add(made->descriptor, made->address, SIZE, &made->entry) == TN_OK;
}

static bool is_open(int32_t descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

static uint64_t count_mappings(void) {
  uint64_t count, size;
  tn_mapping_totals(&count, &size);
  return count;
}

TEST(the_end_of_a_thread_closes_its_memory_and_no_other) {
  const uint64_t before = count_mappings();
  /* Twice, because the second environment of a thread needs another hook. */
  for (int round = 0; round < 2; round++) {
    environment_t *environment = environment_open();
    memory_t memories[3];
    for (int i = 0; i < 3; i++) CHECK(open_memory(&memories[i]));
    tn_thread_memory_t *descriptor_only, *nothing;
    const int32_t copy = fcntl(memories[0].descriptor, F_DUPFD_CLOEXEC, 3);
    CHECK(tn_thread_memory_add(copy, NULL, 0, &descriptor_only) == TN_OK);
    CHECK(tn_thread_memory_add(-1, NULL, 0, &nothing) == TN_OK);
    tn_thread_memory_remove(memories[1].entry);
    environment_close(environment);
    CHECK(!is_open(memories[0].descriptor) && is_open(memories[1].descriptor) && !is_open(memories[2].descriptor));
    CHECK(!is_open(copy));
    CHECK(count_mappings() == before + 1);
    CHECK(tn_mapping_close(memories[1].address, SIZE) == TN_OK);
    CHECK(tn_descriptor_close(memories[1].descriptor) == TN_OK);
  }
}

TEST(a_thread_without_javascript_has_no_memory_of_its_own) {
  tn_thread_memory_t *entry = NULL;
  CHECK(tn_thread_memory_add(-1, NULL, 0, &entry) == TN_CLOSED);
  CHECK(tn_thread_memory_add(-1, NULL, 0, NULL) == TN_INVALID_ARGUMENT);
  CHECK(entry == NULL);
}
#endif
