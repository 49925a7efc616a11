/* host/client and tenon-host: words that either side could have written, in command memory, while calls run. A thread writes
 * them again and again, so that each side meets them at any moment. The client must go on, and notice every end of the
 * worker. The worker may end, but not by a fault.
 *
 * The worker is tenon-host with sanitizers, if it is built, or the one of the release. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/posix/host/worker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                              \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                          \
    }                                                                   \
  } while (0)

enum { MOST_STEPS = 64, INPUTS_OF_A_WORKER = 32, SANITIZER_EXIT = 99 };

/* One word, or one call of a client. */
typedef struct {
  uint8_t kind, slot;
  uint16_t place;
  uint32_t word;
} step_t;

/* The input that is running. */
static struct {
  tn_host_t *host;
  step_t steps[MOST_STEPS];
  size_t count;
  _Atomic int has_ended;
} current;

static const char *find_program(void) {
  static const char *const variants[] = {"asan", "release"};
  static char path[4096];
  Dl_info info;
  REQUIRE(dladdr((void *)(uintptr_t)tn_abi_version, &info) != 0);
  const int length = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    snprintf(path, sizeof path, "%.*s/../%s/tenon-host", length, info.dli_fname, variants[i]);
    if (access(path, X_OK) == 0) return path;
  }
  fprintf(stderr, "%s is not built\n", path);
  abort();
}

static tn_host_t *open_worker(void) {
  const char *path = find_program(), *arguments[] = {path, NULL};
  const char *environment[] = {"ASAN_OPTIONS=detect_leaks=0:exitcode=99", "UBSAN_OPTIONS=exitcode=99", NULL};
  const tn_host_start_t start = {.struct_size = sizeof start,
                                 .program = path,
                                 .arguments = arguments,
                                 .environment = environment,
                                 .grace = SECOND / 100};
  tn_host_t *host = NULL;
  REQUIRE(tn_host_start(&start, &host) == TN_OK);
  REQUIRE(tn_host_wait(host, 0, 30 * (int64_t)SECOND) == TN_OK);
  return host;
}

/* The end of a worker is noticed whatever its memory says, and is no fault. */
static void close_worker(tn_host_t *host) {
  int32_t kind, value;
  if (tn_host_reap(host, 0, &kind, &value) != TN_OK) {
    REQUIRE(tn_host_kill(host) == TN_OK);
    REQUIRE(tn_host_reap(host, 30 * (int64_t)SECOND, &kind, &value) == TN_OK);
  }
  if (kind == 1 ? value == SANITIZER_EXIT : value != SIGKILL) {
    fprintf(stderr, "the worker has ended by %s %d\n", kind == 1 ? "exit code" : "signal", value);
    abort();
  }
  ask(host, 5);
  REQUIRE(tn_host_wait(host, 5, -1) == TN_CLOSED);
  tn_host_close(host);
  REQUIRE(tn_host_live() == 0 && tn_host_unreaped() == 0);
}

static void write_word(const step_t *step) {
  const tn_host_info_t info = info_of(current.host);
  const uint32_t own[] = {(uint32_t)info.process, (uint32_t)info.process | 0x80000000u};
  /* Most words that are read lie in the header and in the slots. */
  size_t place = step->place % sizeof(tn_host_header_t);
  if (step->kind % 4 == 1) place = TN_HOST_SLOTS_OFFSET + step->slot % TN_HOST_SLOTS * TN_HOST_SLOT_SIZE + step->place % 128u;
  if (step->kind % 4 == 2) place = (size_t)step->place * 16 % TN_HOST_COMMAND_SIZE;
  const uint32_t word = step->word % 16 == 15 ? own[step->word / 16 % 2] : step->kind % 8 < 4 ? step->word % 16 : step->word;
  atomic_store((_Atomic uint32_t *)(void *)(info.command + place / 4 * 4), word);
}

static bool is_call(const step_t *step) { return step->kind >= 192; }

static void *write_words(void *unused) {
  while (!current.has_ended)
    for (size_t i = 0; i < current.count; i++)
      if (!is_call(&current.steps[i])) write_word(&current.steps[i]);
  return unused;
}

static void require_any(int32_t status) {
  REQUIRE(status == TN_OK || status == TN_TIMED_OUT || status == TN_CLOSED);
}

static void call(const step_t *step) {
  tn_host_t *host = current.host;
  const uint32_t slot = step->slot % TN_HOST_SLOTS, seen = step->word;
  switch (step->kind % 8) {
    case 0: REQUIRE(tn_host_post(host, step->word % 2) == TN_OK); break;
    case 1: REQUIRE(tn_host_cancel(host, step->word) == TN_OK); break;
    case 2: REQUIRE(tn_host_drain(host) == TN_OK); break;
    case 3: require_any(tn_host_wait(host, slot, SECOND / 2000)); break;
    case 4: require_any(tn_host_wait_any(&host, &seen, 1, SECOND / 2000)); break;
    default:
      ask(host, slot);
      require_any(tn_host_exchange(host, slot, SECOND / 1000));
  }
}

static void run_calls(void) {
  for (size_t i = 0; i < current.count; i++) {
    if (is_call(&current.steps[i]))
      call(&current.steps[i]);
    else
      write_word(&current.steps[i]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static unsigned inputs;
  current.count = size / sizeof(step_t) < MOST_STEPS ? size / sizeof(step_t) : MOST_STEPS;
  if (current.count == 0) return 0;
  memcpy(current.steps, data, current.count * sizeof(step_t));
  if (current.host == NULL) current.host = open_worker();
  run_calls();
  current.has_ended = 0;
  pthread_t writer;
  REQUIRE(pthread_create(&writer, NULL, write_words, NULL) == 0);
  run_calls();
  current.has_ended = 1;
  REQUIRE(pthread_join(writer, NULL) == 0);
  int32_t kind, value;
  if (++inputs % INPUTS_OF_A_WORKER != 0 && tn_host_reap(current.host, 0, &kind, &value) == TN_TIMED_OUT) return 0;
  close_worker(current.host);
  current.host = NULL;
  return 0;
}
