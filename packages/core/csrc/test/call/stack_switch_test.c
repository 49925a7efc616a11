/* {sysv_x64,aapcs64,win64}.S: what a switch of the stack leaves on the one that it leaves. The tests have a copy of the assembly, because
 * the function is hidden in the core, and the C code before it may save the registers. */
#include <stdlib.h>

#include "call/environment.h"
#include "call/guard.h"
#include "call/stub_slots.h"
#include "call/stubs.h"
#include "check.h"

/* The rest of what the copy needs, with the types of the core. */
tn__stub_t tn__static_slots[TN__STATIC_STUBS];

void tn__stub_enter(const tn__stub_t *stub, tn__registers_t *registers, const void *stack) {
  (void)stub, (void)registers, (void)stack;
  abort();
}

uint32_t tn__catch(void *exception) {
  (void)exception;
  abort();
}

#if defined(_WIN32)
EXCEPTION_DISPOSITION tn__exception_handler(PEXCEPTION_RECORD exception, void *frame, PCONTEXT context,
                                            PDISPATCHER_CONTEXT dispatcher);
EXCEPTION_DISPOSITION tn__exception_handler(PEXCEPTION_RECORD exception, void *frame, PCONTEXT context,
                                            PDISPATCHER_CONTEXT dispatcher) {
  (void)exception, (void)frame, (void)context, (void)dispatcher;
  abort();
}
#else
int32_t tn__personality(int32_t version, int32_t actions, uint64_t class, void *exception, void *context) {
  (void)version, (void)actions, (void)class, (void)exception, (void)context;
  abort();
}
#endif

#if defined(__x86_64__) && !defined(_WIN32)
#define MARK 0x7e40c0de00000000
enum { MARKS = 5 };

/* Counts the marks on the stack that was left, which lie between its free part and the frame of the test. */
static uint32_t count_marks(void *data) {
  void **const bounds = data;
  uint32_t found = 0;
  for (const uint64_t *at = bounds[0]; at < (const uint64_t *)bounds[1]; at++)
    if (*at >= MARK && *at < MARK + MARKS) found |= 1u << (*at - MARK);
  return found;
}

TEST(registers_that_a_call_saves_are_on_the_stack_that_it_leaves) {
  static _Alignas(16) uint8_t stack[1 << 16];
  void *bounds[2] = {NULL, bounds};
  register void *top __asm__("rdi") = stack + sizeof stack;
  register void *run __asm__("rsi") = (void *)(uintptr_t)count_marks;
  register void *data __asm__("rdx") = bounds;
  register void *left __asm__("rcx") = bounds;
  uint32_t found;
  __asm__ volatile(
      "leaq -256(%%rsp), %%rsp\n"
      "movabsq $0x7e40c0de00000000, %%rbx\n"
      "leaq 1(%%rbx), %%r12\n leaq 2(%%rbx), %%r13\n leaq 3(%%rbx), %%r14\n leaq 4(%%rbx), %%r15\n"
      "call tn__on_stack\n"
      "leaq 256(%%rsp), %%rsp"
      : "=a"(found), "+r"(top), "+r"(run), "+r"(data), "+r"(left)
      :
      : "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7");
  CHECK(found == (1u << MARKS) - 1);
}
#endif
