/* crash_report.c, crash_threads.c: each test starts this program again, as a process that plays one of the scenes of crash_scenes.c. */
#include "crash_scenes.h"

#if HAS_CRASH_SCENES
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "thread.h"

extern char **environ;

typedef struct {
  int status;
  uint64_t took_ms;
  int files;
  char page[8192];  /* on standard error */
  char file[65536]; /* one of the files */
} end_t;

static end_t end;

static void read_all(int file, char *out, size_t capacity) {
  size_t length = 0;
  for (ssize_t count; length + 1 < capacity && (count = read(file, out + length, capacity - 1 - length)) > 0;) length += (size_t)count;
  out[length] = '\0';
  close(file);
}

/* Reads the files of a directory, and removes it. */
static void take_files(const char *path) {
  DIR *directory = opendir(path);
  if (directory == NULL) return;
  for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strncmp(entry->d_name, "tenon-crash-", 12) != 0) continue;
    const int file = openat(dirfd(directory), entry->d_name, O_RDONLY);
    if (file >= 0) read_all(file, end.file, sizeof end.file);
    unlinkat(dirfd(directory), entry->d_name, 0);
    end.files++;
  }
  closedir(directory);
  rmdir(path);
}

/* Starts this program with a scene, and sends it a signal once it has written something, unless `sent` is 0. */
static void play_and_send(const char *name, int number, int sent) {
  char scene[64], program[4096], path[] = "/tmp/tenon-crash-test-XXXXXX", *arguments[] = {"scene", NULL};
  int ends[2];
  pid_t child = 0;
  posix_spawn_file_actions_t actions;
  memset(&end, 0, sizeof end);
  end.status = -1;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0 || mkdtemp(path) == NULL || pipe(ends) != 0) return;
  program[length] = '\0';
  snprintf(scene, sizeof scene, "%s %d", name, number);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  setenv(SCENE, scene, 1);
  setenv(DIRECTORY, path, 1);
  const uint64_t start = tn__now_ms();
  const int failed = posix_spawn(&child, program, &actions, NULL, arguments, environ);
  unsetenv(SCENE);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) {
    if (sent != 0 && read(ends[0], end.page, 6) == 6) kill(child, sent);
    while (waitpid(child, &end.status, WNOHANG) == 0) {
      if (tn__now_ms() - start > 20000) kill(child, SIGKILL);
      sleep_ms(1);
    }
    end.took_ms = tn__now_ms() - start;
  }
  read_all(ends[0], end.page, sizeof end.page);
  take_files(path);
}

static bool has(const char *where, const char *text) {
  if (strstr(where, text) != NULL) return true;
  check_fail(__FILE__, __LINE__, "\"%s\" is not in: %.600s", text, where);
  return false;
}

/* Plays a scene that ends with a signal, and writes so many files. */
static bool dies(const char *name, int number, int signal_number, int files) {
  play_and_send(name, number, 0);
  if (WIFSIGNALED(end.status) && WTERMSIG(end.status) == signal_number && end.files == files) return true;
  check_fail(__FILE__, __LINE__, "%s %d ended with status %x and %d files: %.600s", name, number, (unsigned)end.status, end.files,
             end.page);
  return false;
}

static bool exits(const char *name, int number, int code) {
  play_and_send(name, number, 0);
  if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == code) return true;
  check_fail(__FILE__, __LINE__, "%s %d ended with status %x: %.600s", name, number, (unsigned)end.status, end.page);
  return false;
}

TEST(a_fatal_signal_in_a_call_is_reported_and_ends_the_process_as_before) {
  static const struct {
    int number;
    const char *name;
  } signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"},
                 {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"}};
  char start[64];
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    const int number = signals[i].number;
    CHECK(dies("plain", number, number, 0) && end.page[0] == '\0');
    const int plain = end.status;
    CHECK(dies("fault", number, number, 1) && end.status == plain);
    snprintf(start, sizeof start, "tenon: %s in softmax(float32[2], int) (process ", signals[i].name);
    CHECK(has(end.page, start));
    CHECK(has(end.page, ", a thread of JavaScript)\n  at "));
    snprintf(start, sizeof start, "\"signal\": \"%s\"", signals[i].name);
    CHECK(has(end.file, start));
  }
}

TEST(a_report_has_the_call_its_frames_and_its_callers) {
  CHECK(dies("fault", 0, SIGSEGV, 1));
  CHECK(has(end.page, "tenon: SIGSEGV writing at address 0x0 in softmax(float32[2], int) (process "));
  CHECK(has(end.page, "  called at main (file:///a.js:1:2)\n  called at file:///b.js:3:4\n  report: /tmp/tenon-crash-test-"));
  CHECK(has(end.file, "{\n  \"format\": \"tenon-crash\",\n  \"version\": 1,\n"));
  CHECK(has(end.file, "\"address\": \"0x0\",\n  \"access\": \"write\",\n  \"stackOverflow\": false,\n"));
  CHECK(has(end.file, ",\n  " ABOUT ",\n  \"call\": { \"kernel\": \"softmax\", \"convention\": \"typed\", "
                      "\"types\": [\"float32[2]\", \"int\"], \"stack\": [\"main (file:///a.js:1:2)\", \"file:///b.js:3:4\"] },\n"));
  CHECK(has(end.file, "\"exact\": true, \"library\": \"/"));
  CHECK(has(end.file, "libtenon.so\", \"offset\": \"0x"));
}

TEST(a_full_stack_and_a_jump_to_nowhere_are_told_apart_from_other_faults) {
  CHECK(dies("recursion", 0, SIGSEGV, 1));
  CHECK(has(end.page, "tenon: SIGSEGV because its stack is full in softmax("));
  CHECK(has(end.file, "\"stackOverflow\": true"));
  CHECK(dies("jump", 0, SIGSEGV, 1));
  CHECK(has(end.page, "tenon: SIGSEGV calling at address 0x0 in softmax("));
  CHECK(has(end.page, ")\n  at 0x0\n  at core_test+0x"));
}

TEST(a_stack_that_cannot_be_read_is_reported_as_far_as_it_goes) {
  CHECK(dies("damage", 0, SIGSEGV, 1) && end.took_ms < 5000);
  CHECK(has(end.page, ")\n  at core_test+0x"));
  CHECK(has(end.page, "  called at main ("));
  CHECK(dies("loop", 0, SIGSEGV, 1) && end.took_ms < 10000);
  CHECK(has(end.page, ")\n  at core_test+0x"));
  CHECK(has(end.file, "\"exact\": true"));
}

TEST(a_crash_outside_of_native_calls_is_not_reported) {
  CHECK(dies("outside", SIGSEGV, SIGSEGV, 0) && end.page[0] == '\0');
  CHECK(dies("script", 0, SIGABRT, 0) && end.page[0] == '\0');
  play_and_send("waiting", 0, SIGSEGV);
  CHECK(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSEGV && end.files == 0 && end.page[0] == '\0');
}

TEST(a_crash_in_a_leaf_is_reported) {
  CHECK(dies("leaf", SIGFPE, SIGFPE, 1));
  CHECK(has(end.page, "tenon: SIGFPE in softmax("));
}

TEST(a_job_is_a_part_of_the_call_that_added_it) {
  CHECK(dies("job", 1, SIGSEGV, 1));
  CHECK(has(end.page, "tenon: SIGSEGV writing at address 0x0 in softmax(float32[2], int) (process "));
  CHECK(has(end.page, ", a thread of the pool)\n"));
  CHECK(has(end.page, "  called at file:///b.js:3:4\n"));
  CHECK(dies("job", 0, SIGSEGV, 1));
  CHECK(has(end.page, " in a native call (process ") && strstr(end.file, "\"call\"") == NULL);
  CHECK(dies("job", 2, SIGSEGV, 1));
  CHECK(has(end.page, "tenon: SIGSEGV because its stack is full in softmax("));
}

TEST(a_thread_is_known_until_it_ends) { CHECK(exits("threads", 1100, EXIT_CODE)); }

TEST(a_fault_that_is_repaired_is_no_crash) {
  CHECK(exits("guarded", 0, EXIT_CODE) && end.files == 0 && end.page[0] == '\0');
}

TEST(a_call_that_deeper_calls_have_overwritten_is_not_known) {
  CHECK(dies("nested", NESTED, SIGSEGV, 1) && has(end.page, " in inner("));
  CHECK(dies("nested", 3, SIGSEGV, 1) && has(end.page, " in inner("));
  CHECK(dies("nested", 1, SIGSEGV, 1) && has(end.page, " in a native call ("));
}

TEST(handlers_that_were_there_before_are_called) {
  CHECK(exits("handler", 0, 42) && end.files == 1 && has(end.page, "tenon: SIGSEGV writing"));
  CHECK(exits("handler", 1, 43) && end.files == 1 && has(end.page, "tenon: SIGSEGV writing"));
  CHECK(exits("ignored", 0, EXIT_CODE) && end.files == 0 && end.page[0] == '\0');
}

TEST(a_handler_that_survives_does_not_fill_a_disk) {
  CHECK(exits("survival", 0, EXIT_CODE) && end.files == 16);
  CHECK(has(end.page, "  further crashes of this process are not reported\n"));
  /* A handler for one signal alone. */
  CHECK(dies("survival", (int)SA_RESETHAND, SIGTRAP, 2));
}

TEST(a_reporter_is_installed_as_a_whole_or_not_at_all) {
  CHECK(exits("refused", 0, EXIT_CODE));
  CHECK(dies("again", 0, SIGSEGV, 1));
}
#endif
