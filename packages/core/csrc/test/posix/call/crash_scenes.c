/* The processes of crash_report_test.c. Each plays the scene that its environment names. */
#include "crash_scenes.h"

#if HAS_CRASH_SCENES
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "environment.h"

enum { LATE = 99 };

/* --- Faults ------------------------------------------------------------------------------------------------------- */

/* Functions whose stack cannot be read: the place of the frame before is that of an endless loop, or at address 0. */
#if defined(__x86_64__)
#define STORE_TO_NULL "movq $0, 0\n"
#else
#define STORE_TO_NULL "mov x0, #0\nstr x0, [x0]\n"
#endif
#define DAMAGED(name, expression)                                                    \
  void name(void);                                                                   \
  __asm__(".text\n.type " #name ", %function\n" #name ":\n.cfi_startproc\n.cfi_escape " \
          expression "\n" STORE_TO_NULL ".cfi_endproc\n.size " #name ", .-" #name "\n")
DAMAGED(damaged_by_loop, "0x0f, 0x03, 0x2f, 0xfd, 0xff");
DAMAGED(damaged_by_fault, "0x0f, 0x02, 0x30, 0x06");

static int *volatile nothing;

static int64_t recurse(int64_t depth) {
  volatile char frame[4096];
  frame[depth & 4095] = (char)depth;
  return depth < 0 ? 0 : recurse(depth + 1) + frame[depth & 4095];
}

static int64_t fault(int64_t number) {
  if (number == 0) *nothing = 1;
  else if (number == SIGABRT) abort();
  else raise((int)number);
  return number;
}

static int64_t jump(int64_t unused) {
  void (*volatile function)(void) = NULL;
  (void)unused;
  function();
  return 0;
}

/* --- Scenes ------------------------------------------------------------------------------------------------------- */

static tn_crash_calls_t *calls;

/* Describes the innermost call as JavaScript does. */
static void begin_call(const char *kernel) {
  const char *texts[TN_CRASH_TEXTS] = {kernel, "typed", "float32[2]\nint", "main (file:///a.js:1:2)\nfile:///b.js:3:4"};
  const uint32_t depth = ++calls->depth;
  tn_crash_call_t *call = &calls->calls[(depth - 1) % TN_CRASH_CALLS];
  size_t used = 0;
  for (int i = 0; i < TN_CRASH_TEXTS; i++) {
    call->sizes[i] = (uint32_t)strlen(texts[i]);
    memcpy(call->texts + used, texts[i], call->sizes[i]);
    used += call->sizes[i];
  }
  call->depth = depth;
}

static int32_t install_in(const char *directory) {
  return tn_crash_report_install(directory, strlen(directory), ABOUT, sizeof ABOUT - 1);
}

static environment_t *report_thread(void) {
  environment_t *environment = environment_open();
  calls = calloc(1, sizeof *calls);
  if (calls == NULL || tn_crash_report_thread(calls) != TN_OK) _exit(LATE);
  return environment;
}

static environment_t *start(void) {
  if (tn_crash_report_is_installed() || install_in(getenv(DIRECTORY)) != TN_OK || !tn_crash_report_is_installed()) _exit(LATE);
  environment_t *environment = report_thread();
  begin_call("softmax");
  return environment;
}

#define CALL(environment, function, argument) environment_call(environment, CODE_OF(function), 0, (uint64_t)(argument), 0)

static void play_plain(int number) { CALL(environment_open(), fault, number); }
static void play_fault(int number) { CALL(start(), fault, number); }
static void play_recursion(int unused) { (void)unused, CALL(start(), recurse, 0); }
static void play_jump(int unused) { (void)unused, CALL(start(), jump, 0); }
static void play_leaf(int number) {
  environment_call(start(), CODE_OF(fault), TN_CALL_LEAF, (uint64_t)number, 0);
}
static void play_loop(int unused) { (void)unused, CALL(start(), damaged_by_loop, 0); }
static void play_damage(int unused) { (void)unused, CALL(start(), damaged_by_fault, 0); }

/* Code of others, at a time when no call runs. */
static void play_outside(int number) {
  start();
  fault(number);
}

static int abort_in_script(environment_t *environment) {
  (void)environment;
  abort();
}

static void play_script(int unused) {
  (void)unused;
  environment_t *environment = start();
  tn_stub_description_t description = {.function = FIRST_FUNCTION, .timeout_ms = UINT32_MAX};
  void *stub = NULL;
  environment->functions[FIRST_FUNCTION] = abort_in_script;
  if (tn_stub_create(&description, &stub) != TN_OK) _exit(LATE);
  environment_call(environment, (uint64_t)(uintptr_t)stub, 0, 0, 0);
}

static int64_t wait_natively(int64_t unused) {
  if (write(2, "waits\n", 6) == 6) sleep_ms(20000);
  return unused;
}

static void play_waiting(int unused) { (void)unused, CALL(start(), wait_natively, 0); }

enum { JOB_OF_NONE, JOB_OF_CALL, JOB_OF_CALL_WITH_FULL_STACK };

/* A call on a thread of the pool. The next call of the thread of JavaScript does not change what is known of it. */
static void play_job(int kind) {
  environment_t *environment = start();
  if (kind == JOB_OF_NONE) calls->depth = 0;
  environment->frame->target = kind == JOB_OF_CALL_WITH_FULL_STACK ? CODE_OF(recurse) : CODE_OF(fault);
  environment->frame->flags = environment->frame->stack_size = 0;
  environment->frame->integers[0] = 0;
  if (tn_call_submit(1) != TN_OK) _exit(LATE);
  calls->depth = 0;
  begin_call("another");
  environment_await(environment, 1);
}

/* A call at the depth, after a deeper one has ended. */
static void play_nested(int depth) {
  environment_t *environment = start();
  while (calls->depth < NESTED) begin_call("inner");
  calls->depth = (uint32_t)depth;
  CALL(environment, fault, 0);
}

static int64_t read_guarded(int64_t address) {
  return *(volatile char *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* A call that reads a page without a file, which is repaired. The handler that does so was there before. */
static void play_guarded(int unused) {
  (void)unused;
  char path[] = "/tmp/tenon-crash-guarded-XXXXXX";
  const int file = mkstemp(path);
  void *mapping = NULL;
  unlink(path);
  if (tn_mapping_open(file, 0, tn_page_size(), TN_MAPPING_GUARDED, &mapping) != TN_OK) _exit(LATE);
  if (CALL(start(), read_guarded, (uintptr_t)mapping) != TN_CALL_RETURNED) _exit(LATE);
}

static void *live(void *unused) {
  environment_t *environment = environment_open();
  tn_crash_calls_t *own = calloc(1, sizeof *own);
  stack_t known;
  if (tn_crash_report_thread(own) != TN_OK || tn_crash_report_thread(own) != TN_OK) _exit(LATE);
  if (sigaltstack(NULL, &known) != 0 || known.ss_size < 65536) _exit(LATE);
  environment_close(environment);
  free(own);
  if (sigaltstack(NULL, &known) != 0 || known.ss_flags != SS_DISABLE) _exit(LATE);
  return unused;
}

/* More threads than are known at a time. */
static void play_threads(int count) {
  if (install_in(getenv(DIRECTORY)) != TN_OK) _exit(LATE);
  test_thread_t thread;
  for (int i = 0; i < count; i++) {
    if (!thread_start(&thread, live, NULL)) _exit(LATE);
    thread_join(&thread);
  }
}

static void leave(int number) {
  (void)number;
  _exit(42);
}

static void leave_with_info(int number, siginfo_t *info, void *context) {
  (void)number;
  if (info->si_signo == SIGSEGV && context != NULL) _exit(43);
}

static void play_handler(int has_info) {
  struct sigaction action = {.sa_flags = has_info ? SA_SIGINFO : 0};
  if (has_info) action.sa_sigaction = leave_with_info;
  else action.sa_handler = leave;
  sigaction(SIGSEGV, &action, NULL);
  CALL(start(), fault, 0);
}

static volatile int handled;
static void go_on(int number) { handled += number == SIGTRAP; }

/* A handler of others that survives, as long as the system leaves it. */
static void play_survival(int flags) {
  struct sigaction action = {.sa_handler = go_on, .sa_flags = flags};
  sigaction(SIGTRAP, &action, NULL);
  environment_t *environment = start();
  for (int i = 0; i < SURVIVED; i++) CALL(environment, fault, SIGTRAP);
  if (handled != SURVIVED) _exit(LATE);
}

static void play_ignored(int unused) {
  (void)unused;
  signal(SIGTRAP, SIG_IGN);
  CALL(start(), fault, SIGTRAP);
}

/* Makes the system refuse handlers of a signal. */
static void refuse_handlers(int number) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(LATE);
}

static void play_refused(int unused) {
  (void)unused;
  refuse_handlers(SIGSYS);
  for (int i = 0; i < 2; i++)
    if (install_in(getenv(DIRECTORY)) != TN_SYSTEM || tn_crash_report_is_installed()) _exit(LATE);
  struct sigaction known;
  sigaction(SIGSEGV, NULL, &known);
  if (known.sa_handler != SIG_DFL) _exit(LATE);
}

/* The first call has no memory. The second one works, and so does a third one with another directory. */
static void play_again(int unused) {
  (void)unused;
  struct rlimit known;
  getrlimit(RLIMIT_AS, &known);
  const struct rlimit none = {.rlim_cur = 1 << 20, .rlim_max = known.rlim_max};
  tn_crash_prepare();
  setrlimit(RLIMIT_AS, &none);
  const int32_t status = install_in("/nowhere");
  setrlimit(RLIMIT_AS, &known);
  if (status != TN_OUT_OF_MEMORY || install_in("/nowhere") != TN_OK || install_in(getenv(DIRECTORY)) != TN_OK) _exit(LATE);
  CALL(report_thread(), fault, 0);
}

static const struct {
  const char *name;
  void (*play)(int number);
} scenes[] = {
    {"plain", play_plain},       {"fault", play_fault},       {"recursion", play_recursion}, {"jump", play_jump},
    {"leaf", play_leaf},         {"loop", play_loop},         {"damage", play_damage},       {"outside", play_outside},
    {"script", play_script},     {"waiting", play_waiting},   {"job", play_job},             {"nested", play_nested},
    {"handler", play_handler},   {"survival", play_survival}, {"ignored", play_ignored},     {"refused", play_refused},
    {"again", play_again},       {"guarded", play_guarded},   {"threads", play_threads},
};

/* Plays the scene that the environment names, as "name number". Constructors of this program with a lower number have run. */
__attribute__((constructor(60000))) static void play_named(void) {
  const char *wanted = getenv(SCENE);
  if (wanted == NULL) return;
  const size_t length = strcspn(wanted, " ");
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (strlen(scenes[i].name) == length && strncmp(scenes[i].name, wanted, length) == 0) {
      scenes[i].play(atoi(wanted + length));
      _exit(EXIT_CODE);
    }
  _exit(LATE);
}
#endif
