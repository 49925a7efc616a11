/* The description of a fatal signal: its address, and the frames of the thread that it interrupted. */
#include "base/status.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#if defined(__x86_64__)
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define SP(context) ((context)->uc_mcontext.gregs[REG_RSP])
typedef greg_t word_t;
#else
#define PC(context) ((context)->uc_mcontext.pc)
#define SP(context) ((context)->uc_mcontext.sp)
typedef uint64_t word_t;
#endif

/* The unwinder of the C++ runtime, which reads .eh_frame. It is found beforehand, because the loader can be in a state in which it
 * finds nothing. */
static _Unwind_Reason_Code (*walk)(_Unwind_Trace_Fn frame, void *data);
static _Unwind_Ptr (*pc_of)(struct _Unwind_Context *context, int *is_exact);

/* The type of the exception in progress of this thread: an std::type_info, or null. */
static void *(*exception_type)(void);

static void *find(const char *library, const char *name) {
  void *loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  /* It stays loaded, so its functions can be called later. */
  return loaded == NULL ? NULL : dlsym(loaded, name);
}

int32_t tn_crash_prepare(void) {
  if (walk == NULL) {
    void *unwinder = dlopen("libgcc_s.so.1", RTLD_LAZY);
    if (unwinder == NULL) return tn__fail(TN_UNSUPPORTED, "%s", "libgcc_s.so.1, which reads stacks, is not there");
    *(void **)&pc_of = dlsym(unwinder, "_Unwind_GetIPInfo");
    *(void **)&walk = dlsym(unwinder, "_Unwind_Backtrace");
    if (pc_of == NULL || walk == NULL) return tn__fail(TN_UNSUPPORTED, "%s", "libgcc_s.so.1 cannot read stacks");
  }
  if (exception_type == NULL) *(void **)&exception_type = find("libstdc++.so.6", "__cxa_current_exception_type");
  return TN_OK;
}

/* 0 unknown, 1 read, 2 write, 3 a jump */
static uint32_t access_of(uint64_t address, ucontext_t *context) {
  if (address == (uint64_t)PC(context)) return 3;
#if defined(__x86_64__)
  return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? 2 : 1;
#else
  /* The records behind the registers; that of the exception syndrome tells writes. */
  const unsigned char *at = (const unsigned char *)context->uc_mcontext.__reserved, *end = at + sizeof context->uc_mcontext.__reserved;
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
#endif
}

/* How far from the stack pointer an access to a full stack is. Large frames are cleared from their far end. */
#define STACK_REACH (1u << 20)

typedef struct {
  tn_crash_t *out;
  bool is_past_handler;
} walk_t;

static void add(tn_crash_t *out, uint64_t pc, bool is_exact) {
  const uint32_t index = out->frames;
  if (index >= TN_CRASH_FRAMES) return;
  out->pcs[index] = pc;
  if (is_exact) out->exact |= (uint64_t)1 << index;
  out->frames = index + 1;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *frame, void *data) {
  walk_t *state = data;
  int is_exact = 0;
  const uint64_t pc = pc_of(frame, &is_exact);
  /* The first frame below the handler is the one that the signal interrupted. */
  if (is_exact != 0) state->is_past_handler = true;
  if (state->is_past_handler && pc != 0) add(state->out, pc, is_exact != 0);
  return state->out->frames < TN_CRASH_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void add_frames(ucontext_t *context, tn_crash_t *out) {
  walk_t state = {.out = out, .is_past_handler = false};
  if (walk == NULL) {
    add(out, (uint64_t)PC(context), true);
    return;
  }
  const word_t pc = PC(context), sp = SP(context);
  const bool has_jumped = out->access == 3;
  if (has_jumped) {
    /* No rule says how to leave an address without code. The last instruction was a call, whose return address is where calls leave it. */
    add(out, (uint64_t)pc, true);
#if defined(__x86_64__)
    memcpy(&PC(context), (const void *)sp, sizeof pc); /* NOLINT(performance-no-int-to-ptr) */
    SP(context) = sp + 8;
#else
    PC(context) = context->uc_mcontext.regs[30];
#endif
    /* The call may be the last instruction of its function. */
    PC(context) -= 1;
  }
  walk(visit, &state);
  PC(context) = pc;
  SP(context) = sp;
  if (out->frames == 0) add(out, (uint64_t)pc, true);
}

/* The second word of an std::type_info is its name. */
static void add_exception(tn_crash_t *out) {
  const char *const *type = exception_type();
  if (type == NULL) return;
  const char *name = type[1];
  size_t length = 0;
  while (length < TN_CRASH_EXCEPTION - 1 && name[length] != '\0') length++;
  memcpy(out->exception, name, length);
}

void tn_crash_record(int32_t number, const void *info, void *context, tn_crash_t *out) {
  const siginfo_t *signal = info;
  /* Only faults of memory have an address, and the processor does not report all of them. */
  const bool has_address = (number == SIGSEGV || number == SIGBUS) && signal->si_code > 0 && signal->si_code != SI_KERNEL;
  const uint64_t address = has_address ? (uint64_t)(uintptr_t)signal->si_addr : UINT64_MAX;
  memset(out, 0, sizeof *out);
  out->signal = number;
  out->code = signal->si_code;
  out->address = address;
  out->access = has_address ? access_of(address, context) : 0;
  out->is_stack = has_address && address - (uint64_t)SP((ucontext_t *)context) + STACK_REACH < 2 * (uint64_t)STACK_REACH;
  add_frames(context, out);
  if (number == SIGABRT && exception_type != NULL) add_exception(out);
}

#else

int32_t tn_crash_prepare(void) { return tn__fail(TN_UNSUPPORTED, "%s", "crashes are recorded on Linux for x64 and arm64 only"); }

void tn_crash_record(int32_t number, const void *info, void *context, tn_crash_t *out) {
  (void)number, (void)info, (void)context, (void)out;
}

#endif
