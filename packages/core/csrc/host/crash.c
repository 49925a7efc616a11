/* The record of a crash, which the handler of a fatal signal writes. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/locate.h"
#include "kernels/request.h"
#include "process.h"

#define STACK_SIZE 65536

/* How long the handler may take, in seconds: the loader can be in a state in which stacks cannot be read. */
#define LONGEST 1

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

static tn_host_header_t *record;

/* The thread that writes the record; 0 for none. */
static _Atomic long recorder;

/* The signal that it handles. */
static volatile sig_atomic_t recorded;

static void list_modules(void) { tn_modules_write((uint8_t *)record + TN_HOST_MODULES_OFFSET, TN_HOST_MODULES_SIZE); }

static void write_record(int number, const siginfo_t *info, void *context) {
  tn__host_place_t place = {.operand = UINT32_MAX, .memory = UINT32_MAX};
  record->crash_target = tn__host_target();
  record->crash_operand = record->crash_pool = UINT32_MAX;
  record->crash.signal = number;
  atomic_store((_Atomic uint32_t *)&record->crash_kind, 1);
  tn_crash_record(number, info, context, &record->crash);
  /* Constructors run before the library is listed. */
  if (record->phase == TN_HOST_CONTROLLING || record->phase == TN_HOST_PREPARING) list_modules();
  const uint64_t address = record->crash.address;
  if (address == UINT64_MAX || !tn__host_locate(address, &place)) return;
  record->crash_operand = place.operand;
  record->crash_pool = place.memory;
  record->crash_offset = place.offset;
  if (place.operand != UINT32_MAX) record->crash.is_stack = 0;
}

/* The default action ends the process with this signal, also if nothing faults again. */
static void end_process(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

static void on_alarm(int unused) {
  (void)unused;
  end_process(recorded);
}

static void handle(int number, siginfo_t *info, void *context) {
  const long thread = syscall(SYS_gettid);
  long first = 0;
  if (atomic_compare_exchange_strong(&recorder, &first, thread)) {
    recorded = number;
    signal(SIGALRM, on_alarm);
    alarm(LONGEST);
    write_record(number, info, context);
  } else if (first != thread) {
    /* Threads that run the same code fault together. The first one ends the process once its record is complete. */
    for (;;) pause();
  }
  /* A fault of the handler itself does not hide the signal. */
  end_process(recorded);
}

void tn__record_crashes(uint8_t *command) {
  if (record == NULL) {
    record = (tn_host_header_t *)(void *)command;
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t alternate = {.ss_sp = stack, .ss_size = STACK_SIZE};
    if (stack != MAP_FAILED) sigaltstack(&alternate, NULL);
  }
  tn_crash_prepare();
  list_modules();
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &action, NULL);
}
