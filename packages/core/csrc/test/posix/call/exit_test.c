/* exit.c: ends of the process while native code runs. Each test starts this program again, as a process that plays one of
 * the scenes below and ends. */
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "environment.h"

extern char **environ;

#define SCENE "TENON_TEST_SCENE"

/* --- Scenes ------------------------------------------------------------------------------------------------------- */

enum { EXIT_CODE = 7, LATE = 99 };

static atomic_int slept;

static int64_t sleep_natively(int64_t ms) {
  atomic_fetch_add(&slept, 1);
  sleep_ms(ms);
  return 0;
}

/* Starts a call on another thread and waits until it runs. */
static void start_sleep(environment_t *environment, uint64_t ms) {
  tn_jobs_counts_t counts;
  tn_call_frame_t *frame = environment->frame;
  frame->target = CODE_OF(sleep_natively);
  frame->flags = frame->stack_size = 0;
  frame->integers[0] = ms;
  if (tn_call_submit(1) != TN_OK) _exit(LATE);
  do tn_jobs_counts(&counts);
  while (counts.running == 0);
}

static void play_nothing(void) {
  environment_open();
  tn_process_exit(EXIT_CODE, 5000);
}

static void play_job_that_ends(void) {
  start_sleep(environment_open(), 100);
  const uint64_t start = tn__now_ms();
  tn_process_exit(EXIT_CODE, 60000);
  if (tn__now_ms() - start < 60) _exit(LATE);
}

static void play_job_without_end(void) {
  start_sleep(environment_open(), 600000);
  tn_process_exit(EXIT_CODE, 100);
  _exit(LATE);
}

static void play_queued_jobs(void) {
  environment_t *environment = environment_open();
  tn_jobs_counts_t counts;
  tn_jobs_counts(&counts);
  for (uint64_t i = 0; i < counts.limit + 10; i++) start_sleep(environment, 500);
  tn_process_exit(EXIT_CODE, 60000);
  const uint64_t limit = counts.limit;
  tn_jobs_counts(&counts);
  if (counts.queued != 0 || counts.running != 0 || (uint64_t)atomic_load(&slept) > limit) _exit(LATE);
}

static atomic_int is_answered;

static uint64_t never_run(void *data) {
  (void)data;
  _exit(LATE);
}

static uint64_t never_answer(void *data) {
  (void)data;
  return tn_environment_next_answer();
}

static uint64_t to_exit;
static pthread_t caller;

static uint64_t exit_inside(void *data) {
  (void)data;
  pthread_detach(caller);
  tn_process_exit(EXIT_CODE, 1000);
  while (!atomic_load(&is_answered)) sleep_ms(1);
  _exit(EXIT_CODE);
}

static void *wait_for_answer(void *run) {
  const tn_relay_t relay = {
      .environment = to_exit, .threads = TN_THREADS_WAIT, .timeout_ms = UINT32_MAX, .run = *(uint64_t(**)(void *))run};
  if (tn_environment_relay(&relay) == TN_CLOSED) atomic_store(&is_answered, 1);
  return NULL;
}

/* Ends while a thread waits in `run`, as a destructor of a library may join it. */
static void end_while_waiting(uint64_t (*run)(void *)) {
  static uint64_t (*waited)(void *);
  waited = run;
  environment_t *environment = environment_open();
  to_exit = environment->id;
  if (pthread_create(&caller, NULL, wait_for_answer, &waited) != 0) _exit(LATE);
  sleep_ms(50);
  if (run != never_run) environment_turn(environment);
  tn_process_exit(EXIT_CODE, 1000);
  pthread_join(caller, NULL);
  if (!atomic_load(&is_answered)) _exit(LATE);
}

static void play_waiting_thread(void) { end_while_waiting(never_run); }
static void play_unanswered_thread(void) { end_while_waiting(never_answer); }
static void play_exit_in_a_relayed_call(void) { end_while_waiting(exit_inside); }

/* A stub is dead after the exit. */
static void play_stub(void) {
  environment_t *environment = environment_open();
  tn_stub_description_t description = {.function = FIRST_FUNCTION, .timeout_ms = UINT32_MAX, .refused = 9};
  void *stub = NULL;
  int64_t (*function)(void) = NULL;
  environment->functions[FIRST_FUNCTION] = NULL; /* entering it would crash */
  if (tn_stub_create(&description, &stub) != TN_OK) _exit(LATE);
  tn_process_exit(EXIT_CODE, 1000);
  memcpy(&function, &stub, sizeof stub);
  if (function() != 9) _exit(LATE);
}

static atomic_int worker_runs;

static void *end_worker(void *unused) {
  environment_t *environment = environment_open();
  start_sleep(environment, 600000);
  atomic_store(&worker_runs, 1);
  tn_environment_close(); /* waits for the job until the process exits */
  _exit(LATE);
  return unused;
}

/* A worker that ends waits without a limit, unless the process exits meanwhile. */
static void play_ending_worker(void) {
  pthread_t worker;
  environment_open();
  if (pthread_create(&worker, NULL, end_worker, NULL) != 0) _exit(LATE);
  while (!atomic_load(&worker_runs)) sleep_ms(1);
  sleep_ms(50);
  tn_process_exit(EXIT_CODE, 150);
  _exit(LATE);
}

static const struct {
  const char *name;
  void (*play)(void);
} scenes[] = {
    {"nothing", play_nothing},
    {"job that ends", play_job_that_ends},
    {"job without end", play_job_without_end},
    {"queued jobs", play_queued_jobs},
    {"waiting thread", play_waiting_thread},
    {"unanswered thread", play_unanswered_thread},
    {"exit in a relayed call", play_exit_in_a_relayed_call},
    {"stub", play_stub},
    {"ending worker", play_ending_worker},
};

/* Plays the scene that the environment names. Constructors of this program with a lower number have run. */
__attribute__((constructor(60000))) static void play(void) {
  const char *wanted = getenv(SCENE);
  if (wanted == NULL) return;
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (strcmp(scenes[i].name, wanted) == 0) {
      scenes[i].play();
      _exit(EXIT_CODE);
    }
  _exit(LATE);
}

/* --- Tests -------------------------------------------------------------------------------------------------------- */

typedef struct {
  int code; /* or -1 */
  uint64_t took_ms;
  char output[1024]; /* on stderr */
} end_t;

/* Starts this program with a scene. A process that does not end in 20 s is killed. */
static end_t play_scene(const char *name) {
  end_t end = {.code = -1};
  int ends[2], status = 0;
  pid_t child = 0;
  char *arguments[] = {"scene", NULL};
  posix_spawn_file_actions_t actions;
  if (pipe(ends) != 0) return end;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  setenv(SCENE, name, 1);
  const uint64_t start = tn__now_ms();
  const int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ);
  unsetenv(SCENE);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) {
    while (waitpid(child, &status, WNOHANG) == 0 && tn__now_ms() - start < 20000) sleep_ms(2);
    end.took_ms = tn__now_ms() - start;
    if (end.took_ms >= 20000) {
      kill(child, 9);
      waitpid(child, &status, 0);
    } else if (WIFEXITED(status)) {
      end.code = WEXITSTATUS(status);
    }
    const ssize_t length = read(ends[0], end.output, sizeof end.output - 1);
    end.output[length < 0 ? 0 : length] = '\0';
  }
  close(ends[0]);
  return end;
}

static bool ends_quietly(const char *scene) {
  const end_t end = play_scene(scene);
  if (end.code == EXIT_CODE && end.output[0] == '\0') return true;
  check_fail(__FILE__, __LINE__, "%s ended with %d after %d ms: %s", scene, end.code, (int)end.took_ms, end.output);
  return false;
}

TEST(an_exit_without_native_work_does_not_wait) { CHECK(ends_quietly("nothing")); }

TEST(an_exit_waits_for_a_call_that_runs) { CHECK(ends_quietly("job that ends")); }

TEST(an_exit_removes_calls_that_have_not_begun) { CHECK(ends_quietly("queued jobs")); }

TEST(an_exit_ends_the_process_if_a_call_does_not_return) {
  const end_t end = play_scene("job without end");
  CHECK(end.code == EXIT_CODE && end.took_ms < 5000);
  CHECK(strstr(end.output, "tenon: ended without waiting for native calls: they did not return in ") != NULL);
  CHECK(strstr(end.output, "TENON_EXIT_WAIT") != NULL);
}

TEST(an_exit_answers_waiting_threads) {
  CHECK(ends_quietly("waiting thread"));
  CHECK(ends_quietly("unanswered thread"));
  CHECK(ends_quietly("exit in a relayed call"));
}

TEST(stubs_are_dead_after_an_exit) { CHECK(ends_quietly("stub")); }

TEST(the_end_of_a_worker_gives_up_when_an_exit_does) {
  const end_t end = play_scene("ending worker");
  CHECK(end.code == EXIT_CODE && end.took_ms < 5000);
  CHECK(strstr(end.output, "tenon: ended without waiting for native calls: they did not return in ") != NULL);
}
#endif
