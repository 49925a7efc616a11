/* The common part of every fuzz program: the main function, a mutator, and coverage that guides it. The target defines
 * LLVMFuzzerTestOneInput(), so that the same source also runs under libFuzzer (without this file).
 *
 *   program --seconds N --corpus DIR [--seeds DIR] [--seed S]     fuzzes, and keeps inputs that reach new code in DIR
 *   program FILE...                                              runs only these inputs
 *
 * A child process fuzzes, with its current input in shared memory. If it dies, or does not return from one input within
 * HANG_SECONDS, the parent writes that input to DIR/../crash-<hash> and exits with 1. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz_driver.h"

#define HANG_SECONDS 20
#define LARGEST_INPUT ((size_t)1 << 14)
#define MOST_INPUTS ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The memory that the child shares with its parent. */
typedef struct {
  volatile uint64_t runs;
  volatile size_t size;
  uint8_t data[LARGEST_INPUT];
} shared_t;

typedef struct {
  uint8_t *data;
  size_t size;
} input_t;

static input_t inputs[MOST_INPUTS];
static size_t input_count;

static void die(const char *what, const char *path) {
  fprintf(stderr, "%s %s\n", what, path);
  exit(2);
}

/* --- Inputs ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_bytes(const uint8_t *data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

/* Copies an input into the corpus. In a full corpus it replaces a random one. */
static void add_input(const uint8_t *data, size_t size) {
  const size_t slot = input_count < MOST_INPUTS ? input_count++ : fuzz_random(MOST_INPUTS);
  free(inputs[slot].data);
  /* The block has exactly the size of the input, so that the sanitizer detects a read past its end. */
  inputs[slot] = (input_t){malloc(size > 0 ? size : 1), size};
  if (inputs[slot].data == NULL) die("out of memory", "");
  if (size > 0) memcpy(inputs[slot].data, data, size);
}

static size_t read_file(const char *path, uint8_t *buffer) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) die("cannot read", path);
  const size_t size = fread(buffer, 1, LARGEST_INPUT, file);
  fclose(file);
  return size;
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) die("cannot write", path);
}

static void read_corpus(const char *directory) {
  DIR *entries = opendir(directory);
  if (entries == NULL) die("cannot read the directory", directory);
  static uint8_t buffer[LARGEST_INPUT];
  for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (entry->d_name[0] == '.') continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    add_input(buffer, read_file(path, buffer));
  }
  closedir(entries);
}

/* --- The child: fuzz ---------------------------------------------------------------------------------------------- */

/* Runs one input in a block of exactly its size. */
static void run_input(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) die("out of memory", "");
  if (size > 0) memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static void run_shared(shared_t *shared) {
  run_input(shared->data, shared->size);
  shared->runs++;
}

static void fuzz(shared_t *shared, const char *corpus, time_t seconds) {
  const size_t known = input_count;
  for (size_t i = 0; i < known; i++) {
    shared->size = inputs[i].size;
    memcpy(shared->data, inputs[i].data, inputs[i].size);
    run_shared(shared);
  }
  fuzz_take_new_coverage();
  size_t found = 0;
  for (const time_t end = time(NULL) + seconds; time(NULL) < end;) {
    for (int i = 0; i < 256; i++) {
      const input_t base = inputs[fuzz_random(input_count)], other = inputs[fuzz_random(input_count)];
      memcpy(shared->data, base.data, base.size);
      shared->size = fuzz_mutate(shared->data, base.size, LARGEST_INPUT, other.data, other.size);
      run_shared(shared);
      if (!fuzz_take_new_coverage()) continue;
      char path[4096];
      snprintf(path, sizeof path, "%s/%016llx", corpus, (unsigned long long)hash_bytes(shared->data, shared->size));
      write_file(path, shared->data, shared->size);
      add_input(shared->data, shared->size);
      found++;
    }
  }
  printf("%llu runs, %zu inputs, %zu of them new\n", (unsigned long long)shared->runs, input_count, found);
}

/* --- The parent: watch ------------------------------------------------------------------------------------------ */

static int report(const shared_t *shared, const char *corpus, const char *reason) {
  char path[4096];
  const unsigned long long hash = (unsigned long long)hash_bytes(shared->data, shared->size);
  snprintf(path, sizeof path, "%s/../crash-%016llx", corpus, hash);
  write_file(path, shared->data, shared->size);
  fprintf(stderr, "%s after %llu runs; the input is in %s\n", reason, (unsigned long long)shared->runs, path);
  return 1;
}

static int watch(pid_t child, const shared_t *shared, const char *corpus) {
  uint64_t runs = 0;
  for (int stuck = 0; stuck < HANG_SECONDS * 10; usleep(100000)) {
    int status;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
      return report(shared, corpus, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "the program ended");
    }
    stuck = shared->runs == runs ? stuck + 1 : 0;
    runs = shared->runs;
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return report(shared, corpus, "one input did not come back");
}

int main(int argc, char **argv) {
  const char *corpus = NULL;
  long seconds = 10;
  uint64_t seed = (uint64_t)time(NULL);
  static uint8_t buffer[LARGEST_INPUT];
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strncmp(argv[i], "--", 2) != 0) {
      run_input(buffer, read_file(argv[i], buffer));
      continue;
    }
    i++;
    if (strcmp(argv[i - 1], "--seconds") == 0) seconds = strtol(value, NULL, 10);
    else if (strcmp(argv[i - 1], "--seed") == 0) seed = strtoull(value, NULL, 10);
    else if (strcmp(argv[i - 1], "--seeds") == 0) read_corpus(value);
    else if (strcmp(argv[i - 1], "--corpus") == 0) read_corpus(corpus = value);
    else die("unknown option", argv[i - 1]);
  }
  if (corpus == NULL) return 0;
  add_input(buffer, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  fuzz_seed(seed);
  shared_t *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) die("cannot map", "memory");
  const pid_t child = fork();
  if (child < 0) die("cannot", "fork");
  if (child > 0) return watch(child, shared, corpus);
  fuzz(shared, corpus, seconds);
  return 0;
}
