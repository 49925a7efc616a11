/* The handler of SIGBUS while other threads open and close mappings. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "tenon.h"

#define FAULTS 20000

/* A file without bytes, so that every access to a mapping of it faults. */
static int empty_file(void) {
  char path[] = "/tmp/tenon-fault-guard-XXXXXX";
  int descriptor = mkstemp(path);
  if (descriptor >= 0) unlink(path);
  return descriptor;
}

static int file;
static _Atomic int is_over;

static void *open_and_close(void *data) {
  size_t page = tn_page_size();
  (void)data;
  while (!is_over) {
    /* The second is too large for the place of the first, so they are on both sides of older mappings. */
    for (size_t pages = 1; pages <= 64; pages += 63) {
      void *mapping = NULL;
      if (tn_mapping_open(file, 0, pages * page, TN_MAPPING_GUARDED, &mapping) != TN_OK) continue;
      tn_mapping_close(mapping, pages * page);
    }
  }
  return NULL;
}

TEST(faults_are_handled_while_other_mappings_open_and_close) {
  size_t page = tn_page_size();
  file = empty_file();
  is_over = 0;
  CHECK(file >= 0);
  void *first = NULL;
  char *mapping = NULL;
  CHECK(tn_mapping_open(file, 0, page, TN_MAPPING_GUARDED, &first) == TN_OK);
  CHECK(tn_mapping_open(file, 0, FAULTS * page, TN_MAPPING_GUARDED, (void **)&mapping) == TN_OK);
  CHECK(tn_mapping_close(first, page) == TN_OK);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
  for (size_t i = 0; i < FAULTS; i++)
    if (*(volatile char *)(mapping + i * page) != 0) abort();
  is_over = 1;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  uint64_t missing = 0;
  CHECK(tn_mapping_missing(mapping, FAULTS * page, &missing) == TN_OK && missing == FAULTS);
  CHECK(tn_mapping_missing(mapping, FAULTS * page + 1, &missing) == TN_INVALID_ARGUMENT);
  CHECK(tn_mapping_close(mapping, FAULTS * page) == TN_OK);
  CHECK(tn_mapping_missing(mapping, page, &missing) == TN_NOT_FOUND);
  close(file);
}

TEST(writes_that_did_not_reach_the_file_are_found) {
  size_t page = tn_page_size();
  int file = empty_file();
  CHECK(file >= 0 && ftruncate(file, (off_t)(4 * page)) == 0);
  const uint32_t flags = TN_MAPPING_SHARED | TN_MAPPING_GUARDED;
  volatile char *mapping = NULL;
  uint64_t lost = 0;
  CHECK(tn_mapping_open(file, 0, 4 * page, flags, (void **)&mapping) == TN_OK);
  mapping[page] = 1;
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_OK && lost == UINT64_MAX);
  CHECK(ftruncate(file, (off_t)(2 * page)) == 0);
  CHECK(mapping[3 * page] == 0);
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_OK && lost == UINT64_MAX);
  mapping[4 * page - 1] = 1;
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_OK && lost == 4 * page - 1);
  mapping[2 * page + 3] = 1;
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_OK && lost == 2 * page + 3);
  CHECK(ftruncate(file, (off_t)(page + 10)) == 0);
  CHECK(tn_mapping_lost((void *)mapping, page + 10, &lost) == TN_OK && lost == 2 * page + 3);
  mapping[page + 9] = 1;
  CHECK(tn_mapping_lost((void *)mapping, page + 10, &lost) == TN_OK && lost == 2 * page + 3);
  mapping[page + 10] = 1;
  CHECK(tn_mapping_lost((void *)mapping, page + 10, &lost) == TN_OK && lost == page + 10);
  mapping[page + 10] = 0;
  mapping[2 * page - 1] = 1;
  CHECK(tn_mapping_lost((void *)mapping, page + 10, &lost) == TN_OK && lost == 2 * page - 1);
  CHECK(tn_mapping_close((void *)mapping, 4 * page) == TN_OK);
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_NOT_FOUND);
  close(file);
}

TEST(only_missing_pages_are_replaced) {
  size_t page = tn_page_size();
  int file = empty_file();
  const uint32_t flags = TN_MAPPING_SHARED | TN_MAPPING_GUARDED;
  volatile char *mapping = NULL;
  uint64_t missing = 0, lost = 0;
  CHECK(file >= 0 && ftruncate(file, (off_t)(4 * page)) == 0);
  CHECK(tn_mapping_open(file, 0, 4 * page, flags, (void **)&mapping) == TN_OK);
  CHECK(ftruncate(file, (off_t)page) == 0);
  CHECK(mapping[page] == 0);
  CHECK(ftruncate(file, (off_t)(4 * page)) == 0 && pwrite(file, "a", 1, (off_t)(3 * page)) == 1);
  CHECK(mapping[3 * page] == 'a');
  mapping[2 * page] = 'b';
  char byte = 0;
  CHECK(pread(file, &byte, 1, (off_t)(2 * page)) == 1 && byte == 'b');
  CHECK(tn_mapping_missing((void *)mapping, 4 * page, &missing) == TN_OK && missing == 1);
  CHECK(tn_mapping_missing((void *)(mapping + page), 1, &missing) == TN_OK && missing == 1);
  CHECK(tn_mapping_missing((void *)(mapping + 2 * page - 1), 1, &missing) == TN_OK && missing == 1);
  CHECK(tn_mapping_missing((void *)mapping, page, &missing) == TN_OK && missing == 0);
  CHECK(tn_mapping_missing((void *)(mapping + 2 * page), 2 * page, &missing) == TN_OK && missing == 0);
  CHECK(tn_mapping_missing((void *)(mapping + page), 0, &missing) == TN_OK && missing == 0);
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_OK && lost == UINT64_MAX);
  mapping[2 * page - 1] = 1;
  CHECK(tn_mapping_lost((void *)mapping, 4 * page, &lost) == TN_OK && lost == 2 * page - 1);
  CHECK(tn_mapping_close((void *)mapping, 4 * page) == TN_OK);
  close(file);
}

/* The guard maps a page while the other thread writes to it, which is what is tested. */
#if defined(__GNUC__)
__attribute__((no_sanitize_thread))
#endif
static void *write_each_page(void *data) {
  volatile uint32_t *words = data;
  size_t page = tn_page_size();
  for (size_t i = 0; i < FAULTS; i++) words[i * page / sizeof(uint32_t)]++;
  return NULL;
}

TEST(what_a_thread_writes_to_a_missing_page_stays_when_another_thread_faults_there) {
  size_t page = tn_page_size();
  int file = empty_file();
  char *mapping = NULL;
  CHECK(file >= 0 && tn_mapping_open(file, 0, FAULTS * page, TN_MAPPING_GUARDED, (void **)&mapping) == TN_OK);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&threads[i], NULL, write_each_page, mapping + i * sizeof(uint32_t)) == 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < FAULTS; i++) {
    const volatile uint32_t *words = (volatile uint32_t *)(mapping + i * page);
    if (words[0] != 1 || words[1] != 1) abort();
  }
  CHECK(tn_mapping_close(mapping, FAULTS * page) == TN_OK);
  close(file);
}

#if defined(__linux__)
TEST(more_missing_pages_than_a_process_may_have_mappings_can_be_accessed) {
  enum { COUNT = 80000 };
  size_t page = tn_page_size();
  int file = empty_file();
  char *mapping = NULL;
  uint64_t missing = 0;
  CHECK(file >= 0 && tn_mapping_open(file, 0, 2 * COUNT * page, TN_MAPPING_GUARDED, (void **)&mapping) == TN_OK);
  for (size_t i = 0; i < COUNT; i++) {
    volatile char *byte = mapping + (2 * i + 1) * page;
    if (*byte != 0) abort();
    *byte = 1;
  }
  CHECK(tn_mapping_missing(mapping, 2 * COUNT * page, &missing) == TN_OK && missing >= COUNT);
  CHECK(tn_mapping_close(mapping, 2 * COUNT * page) == TN_OK);
  close(file);
}
#endif

TEST(more_than_1024_guarded_mappings_can_be_open) {
  enum { COUNT = 3000 };
  static void *mappings[COUNT];
  size_t page = tn_page_size();
  int descriptor = empty_file();
  CHECK(descriptor >= 0);
  for (int i = 0; i < COUNT; i++) CHECK(tn_mapping_open(descriptor, 0, page, TN_MAPPING_GUARDED, &mappings[i]) == TN_OK);
  for (int i = 0; i < COUNT; i++) CHECK(*(volatile char *)mappings[i] == 0);
  for (int i = 0; i < COUNT; i++) {
    uint64_t missing = 0;
    CHECK(tn_mapping_missing(mappings[i], page, &missing) == TN_OK && missing == 1);
    CHECK(tn_mapping_close(mappings[i], page) == TN_OK);
  }
  close(descriptor);
}
