/* The record of a crash, which the handler of a fatal signal writes. */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernels/locate.h"
#include "kernels/request.h"
#include "process.h"

#define STACK_SIZE 65536

/* How long the handler may take, in seconds: the loader can be in a state in which addresses have no names. */
#define LONGEST 1

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

static tn_host_header_t *record;

/* The thread that writes the record; 0 for none. */
static _Atomic long recorder;

/* 0 unknown, 1 read, 2 write */
static uint32_t access_of(const ucontext_t *context) {
#if defined(__x86_64__)
  return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? 2 : 1;
#elif defined(__aarch64__)
  /* The records behind the registers; that of the exception syndrome tells writes. */
  const unsigned char *at = context->uc_mcontext.__reserved, *end = at + sizeof context->uc_mcontext.__reserved;
  while ((size_t)(end - at) >= 16) {
    uint32_t magic, size;
    memcpy(&magic, at, sizeof magic);
    memcpy(&size, at + 4, sizeof size);
    if (magic == 0x45535201u) {
      uint64_t syndrome;
      memcpy(&syndrome, at + 8, sizeof syndrome);
      return (syndrome >> 6 & 1) != 0 ? 2 : 1;
    }
    if (size < 8) break;
    at += size;
  }
  return 0;
#else
  (void)context;
  return 0;
#endif
}

/* How far from the stack pointer an access to a full stack is. Large frames are cleared from their far end. */
#define STACK_REACH (1u << 20)

static bool is_stack(uint64_t address, const ucontext_t *context) {
#if defined(__x86_64__)
  const uint64_t pointer = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  const uint64_t pointer = context->uc_mcontext.sp;
#else
  (void)context;
  const uint64_t pointer = UINT64_MAX / 2;
#endif
  return address - pointer + STACK_REACH < 2 * (uint64_t)STACK_REACH;
}

static uint64_t program_counter(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return context->uc_mcontext.pc;
#else
  (void)context;
  return 0;
#endif
}

/* The number of frames before the one that was interrupted. After a jump to nowhere the backtrace does not have it. */
static int frames_of_handler(void *const *frames, int count, uint64_t interrupted) {
  for (int i = 0; i < count; i++)
    if ((uint64_t)(uintptr_t)frames[i] == interrupted) return i;
  return 0;
}

/* Appends text. Returns the new end. */
static char *append(char *at, const char *end, const char *text) {
  while (*text != '\0' && at < end) *at++ = *text++;
  return at;
}

static char *append_hex(char *at, const char *end, uint64_t value) {
  char digits[17];
  int start = 16;
  digits[16] = '\0';
  do {
    digits[--start] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  return append(at, end, digits + start);
}

static void name_frames(void *const *frames, int count) {
  char *at = record->crash_text, *const end = at + sizeof record->crash_text - 1;
  for (int i = 0; i < count && at < end; i++) {
    Dl_info info;
    if (dladdr(frames[i], &info) == 0) continue;
    const char *base = info.dli_fname == NULL ? NULL : strrchr(info.dli_fname, '/');
    const bool is_named = info.dli_sname != NULL;
    at = append(at, end, is_named ? info.dli_sname : "?");
    at = append(at, end, "+0x");
    at = append_hex(at, end, (uint64_t)frames[i] - (uint64_t)(is_named ? info.dli_saddr : info.dli_fbase));
    at = append(at, end, " (");
    at = append(at, end, base != NULL ? base + 1 : info.dli_fname == NULL ? "?" : info.dli_fname);
    at = append(at, end, ")\n");
  }
  *at = '\0';
}

static void write_record(int number, const siginfo_t *info, const ucontext_t *context) {
  /* Only faults of memory have an address, and the processor does not report all of them. */
  const bool has_address = (number == SIGSEGV || number == SIGBUS) && info->si_code > 0 && info->si_code != SI_KERNEL;
  const uint64_t address = has_address ? (uint64_t)(uintptr_t)info->si_addr : UINT64_MAX;
  tn__host_place_t place = {.operand = UINT32_MAX, .memory = UINT32_MAX};
  if (has_address) tn__host_locate(address, &place);
  record->crash_signal = number;
  record->crash_code = info->si_code;
  record->crash_address = address;
  record->crash_operand = place.operand;
  record->crash_pool = place.memory;
  record->crash_offset = place.offset;
  record->crash_access = has_address ? access_of(context) : 0;
  record->crash_is_stack = has_address && place.operand == UINT32_MAX && is_stack(address, context);
  record->crash_target = tn__host_target();
  atomic_store((_Atomic uint32_t *)&record->crash_kind, 1);
  void *frames[32];
  const int count = backtrace(frames, 32), first = frames_of_handler(frames, count, program_counter(context));
  for (int i = first; i < count; i++) record->crash_pcs[i - first] = (uint64_t)(uintptr_t)frames[i];
  record->crash_frames = (uint32_t)(count - first);
  name_frames(frames + first, count - first);
}

static void handle(int number, siginfo_t *info, void *context) {
  const long thread = syscall(SYS_gettid);
  long first = 0;
  if (atomic_compare_exchange_strong(&recorder, &first, thread)) {
    signal(SIGALRM, SIG_DFL);
    alarm(LONGEST);
    write_record(number, info, context);
  } else if (first != thread) {
    /* Threads that run the same code fault together. The first one ends the process once its record is complete. */
    for (;;) pause();
  }
  /* The default action ends the process with this signal, also if nothing faults again. */
  signal(number, SIG_DFL);
  raise(number);
}

void tn__record_crashes(uint8_t *command) {
  if (record == NULL) {
    record = (tn_host_header_t *)(void *)command;
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t alternate = {.ss_sp = stack, .ss_size = STACK_SIZE};
    if (stack != MAP_FAILED) sigaltstack(&alternate, NULL);
    /* Its first call loads a library. */
    void *frame;
    backtrace(&frame, 1);
  }
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &action, NULL);
}
