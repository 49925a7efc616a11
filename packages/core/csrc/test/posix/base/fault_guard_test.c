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
  /* A fault maps the rest of the mapping, so the faults begin at its end. */
  for (size_t i = FAULTS; i > 0; i--)
    if (*(volatile char *)(mapping + (i - 1) * page) != 0) abort();
  is_over = 1;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  uint64_t faults = 0;
  CHECK(tn_mapping_faults(mapping, &faults) == TN_OK);
  CHECK(faults == FAULTS);
  CHECK(tn_mapping_close(mapping, FAULTS * page) == TN_OK);
  CHECK(tn_mapping_faults(mapping, &faults) == TN_NOT_FOUND);
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
  CHECK(tn_mapping_lost((void *)mapping, &lost) == TN_OK && lost == UINT64_MAX);
  CHECK(ftruncate(file, (off_t)(2 * page)) == 0);
  CHECK(mapping[3 * page] == 0);
  CHECK(tn_mapping_lost((void *)mapping, &lost) == TN_OK && lost == UINT64_MAX);
  mapping[4 * page - 1] = 1;
  CHECK(tn_mapping_lost((void *)mapping, &lost) == TN_OK && lost == 4 * page - 1);
  mapping[2 * page + 3] = 1;
  CHECK(tn_mapping_lost((void *)mapping, &lost) == TN_OK && lost == 2 * page + 3);
  CHECK(tn_mapping_close((void *)mapping, 4 * page) == TN_OK);
  CHECK(tn_mapping_lost((void *)mapping, &lost) == TN_NOT_FOUND);
  close(file);
}

TEST(more_than_1024_guarded_mappings_can_be_open) {
  enum { COUNT = 3000 };
  static void *mappings[COUNT];
  size_t page = tn_page_size();
  int descriptor = empty_file();
  CHECK(descriptor >= 0);
  for (int i = 0; i < COUNT; i++) CHECK(tn_mapping_open(descriptor, 0, page, TN_MAPPING_GUARDED, &mappings[i]) == TN_OK);
  for (int i = 0; i < COUNT; i++) CHECK(*(volatile char *)mappings[i] == 0);
  for (int i = 0; i < COUNT; i++) {
    uint64_t faults = 0;
    CHECK(tn_mapping_faults(mappings[i], &faults) == TN_OK && faults == 1);
    CHECK(tn_mapping_close(mappings[i], page) == TN_OK);
  }
  close(descriptor);
}
