/* The handlers of fatal signals that report those inside of native calls, and pass on all. */
#include "base/fault_repair.h"
#include "base/lock.h"
#include "base/modules.h"
#include "base/status.h"
#include "crash_page.h"
#include "crash_threads.h"
#include "tenon_call.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

/* How long each step of a report may take, in seconds: the stack can be damaged, and the system can be slow to write a file. */
#define LONGEST 1
#define STEPS 3

/* A program whose handler survives crashes does not fill a disk. */
#define MOST_REPORTS 16

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
#define SIGNALS (sizeof fatal / sizeof *fatal)

static tn__lock_t lock = TN__LOCK;
static struct sigaction previous[SIGNALS];
static bool is_installed;

/* The texts in use, and those before. A crash that has begun uses its texts meanwhile. */
static tn__crash_texts_t kept_texts[2];
static _Atomic(const tn__crash_texts_t *) texts;

/* The thread that reports, or 0. All below belongs to it. */
static _Atomic int reporter;
static int reports;
static volatile sig_atomic_t reported; /* the signal */
static const siginfo_t *reported_info;
static ucontext_t *reported_context;
static tn__crash_report_t report;

/* Where a step goes on that faulted or took too long, if there is one. */
static sigjmp_buf recovery;
static volatile sig_atomic_t is_recoverable;

/* Whether a program has sent the signal, and not the processor. */
static bool is_sent(const siginfo_t *info) { return info->si_code <= 0; }

/* Ends the process with the signal at once. */
static void end_process(int number) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  syscall(SYS_tgkill, getpid(), tn__crash_thread_id(), number);
}

/* Leaves a step of the report, on the thread that reports. */
static void give_up(void) {
  if (is_recoverable) siglongjmp(recovery, 1);
  end_process(reported);
}

static void on_alarm(int number) {
  const int id = atomic_load(&reporter);
  if (id == tn__crash_thread_id()) give_up();
  /* The system may choose any thread of the process. */
  if (id != 0) syscall(SYS_tgkill, getpid(), id, number);
}

static void set_timer(long seconds, struct itimerval *before) {
  const struct itimerval timer = {.it_value = {.tv_sec = seconds}};
  setitimer(ITIMER_REAL, &timer, before);
}

/* Returns false if the step faulted or took too long. What it has written stays. */
static bool try_step(void (*step)(void)) {
  if (sigsetjmp(recovery, 1) != 0) {
    is_recoverable = 0;
    return false;
  }
  set_timer(LONGEST, NULL);
  is_recoverable = 1;
  step();
  is_recoverable = 0;
  return true;
}

static void record(void) { tn_crash_record(reported, reported_info, reported_context, &report.crash); }
static void write_file(void) { tn__crash_write_file(&report); }
static void write_page(void) { tn__crash_write_page(&report, STDERR_FILENO); }

static void write_report(const tn__caller_t *caller) {
  /* Reading the stack may change the registers, and not restore them if it faults. */
  static mcontext_t registers;
  registers = reported_context->uc_mcontext;
  report.texts = atomic_load(&texts);
  report.modules = tn__modules_kept();
  report.call = tn__crash_call(caller);
  report.thread = tn__crash_kind(caller);
  report.is_last = ++reports == MOST_REPORTS;
  report.is_complete = false;
  report.error = 0;
  report.path[0] = '\0';
  try_step(record);
  reported_context->uc_mcontext = registers;
  try_step(write_file);
  try_step(write_page);
}

static void report_crash(int number, const siginfo_t *info, void *context, const tn__caller_t *caller) {
  struct sigaction alarmed = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK}, old_action;
  struct itimerval old_timer;
  sigset_t alarms, before;
  sigemptyset(&alarmed.sa_mask);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  reported = number;
  reported_info = info;
  reported_context = context;
  sigaction(SIGALRM, &alarmed, &old_action);
  pthread_sigmask(SIG_UNBLOCK, &alarms, &before);
  set_timer(0, &old_timer);
  write_report(caller);
  set_timer(0, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  sigaction(SIGALRM, &old_action, NULL);
  setitimer(ITIMER_REAL, &old_timer, NULL);
}

/* Threads that run the same code fault together. The others wait for the report of the first one. */
static bool becomes_reporter(int id) {
  for (int waited = 0; waited <= (STEPS + 1) * LONGEST * 1000; waited++) {
    int none = 0;
    if (atomic_compare_exchange_strong(&reporter, &none, id)) return true;
    const struct timespec pause = {.tv_nsec = 1000000};
    syscall(SYS_nanosleep, &pause, NULL);
  }
  return false;
}

/* Sends the signal again with its default action. It is delivered at the return from the handler, in the state of the fault, which a core
 * file then has. */
static void die_after_return(int number, siginfo_t *info) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_BLOCK, &only, NULL);
  signal(number, SIG_DFL);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tn__crash_thread_id(), number, info) != 0) end_process(number);
}

static struct sigaction *previous_of(int number) {
  size_t index = 0;
  while (fatal[index] != number) index++;
  return &previous[index];
}

static bool is_without_handler(const struct sigaction *action, void (*how)(int)) {
  return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == how;
}

/* Does what the system would do with the signal if this handler were not there. */
static void pass_on(int number, siginfo_t *info, void *context) {
  const struct sigaction next = *previous_of(number);
  const bool has_info = (next.sa_flags & SA_SIGINFO) != 0;
  /* The system does not ignore faults. */
  if (is_without_handler(&next, SIG_DFL) || is_without_handler(&next, SIG_IGN)) {
    die_after_return(number, info);
    return;
  }
  if ((next.sa_flags & (int)SA_RESETHAND) != 0) *previous_of(number) = (struct sigaction){.sa_handler = SIG_DFL};
  sigset_t mask = next.sa_mask, before;
  if ((next.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, number);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  if (has_info) next.sa_sigaction(number, info, context);
  else next.sa_handler(number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void handle(int number, siginfo_t *info, void *context) {
  const int saved = errno, id = tn__crash_thread_id();
  /* A fault of the report itself does not hide the signal. */
  if (atomic_load(&reporter) == id) give_up();
  if (number == SIGBUS && tn__fault_guard_repair(info)) {
    errno = saved;
    return;
  }
  if (is_sent(info) && is_without_handler(previous_of(number), SIG_IGN)) return;
  const tn__caller_t *caller = tn__crash_thread(id);
  /* Another process can send such signals, too. */
  if (tn__crash_is_in_call(caller) && (!is_sent(info) || info->si_pid == getpid()) && becomes_reporter(id)) {
    if (reports < MOST_REPORTS) report_crash(number, info, context, caller);
    atomic_store(&reporter, 0);
  }
  errno = saved;
  pass_on(number, info, context);
}

/* Installs all handlers, or none. */
static int32_t set_handlers(void) {
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < SIGNALS; i++) {
    /* The handler may run before sigaction() returns. */
    int result = sigaction(fatal[i], NULL, &previous[i]);
    if (result == 0) result = sigaction(fatal[i], &action, NULL);
    if (result == 0) continue;
    const int32_t status = tn__system(result, "sigaction()");
    while (i-- > 0) sigaction(fatal[i], &previous[i], NULL);
    return status;
  }
  return TN_OK;
}

static void keep_texts(const char *directory, size_t directory_length, const char *about, size_t about_length) {
  const tn__crash_texts_t *known = atomic_load(&texts);
  if (known != NULL && strlen(known->directory) == directory_length &&
      memcmp(known->directory, directory, directory_length) == 0)
    return;
  tn__crash_texts_t *next = known == &kept_texts[0] ? &kept_texts[1] : &kept_texts[0];
  memset(next, 0, sizeof *next);
  memcpy(next->directory, directory, directory_length);
  memcpy(next->about, about, about_length);
  atomic_store(&texts, next);
}

static int32_t install(void) {
  TN_TRY(tn_crash_prepare());
  TN_TRY(tn__modules_keep());
  TN_TRY(set_handlers());
  is_installed = true;
  tn__crash_threads_begin();
  return TN_OK;
}

int32_t tn_crash_report_install(const char *directory, size_t directory_length, const char *about, size_t about_length) {
  TN_REQUIRE(directory != NULL && about != NULL, "directory and about must not be null");
  TN_REQUIRE(directory_length <= TN__CRASH_DIRECTORY && memchr(directory, 0, directory_length) == NULL,
             "directory must have at most %d bytes, and no NUL", TN__CRASH_DIRECTORY);
  TN_REQUIRE(about_length <= TN__CRASH_ABOUT, "about must have at most %d bytes", TN__CRASH_ABOUT);
  tn__lock(&lock);
  keep_texts(directory, directory_length, about, about_length);
  const int32_t status = is_installed ? TN_OK : install();
  tn__unlock(&lock);
  return status;
}

int32_t tn_crash_report_is_installed(void) {
  tn__lock(&lock);
  const bool is = is_installed;
  tn__unlock(&lock);
  return is;
}

#else

int32_t tn_crash_report_is_installed(void) { return 0; }

int32_t tn_crash_report_install(const char *directory, size_t directory_length, const char *about, size_t about_length) {
  (void)directory, (void)directory_length, (void)about, (void)about_length;
  return tn__fail(TN_UNSUPPORTED, "crashes are reported on Linux for x64 and arm64 only");
}

#endif
