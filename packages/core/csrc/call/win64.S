/* Calls between the frame and the x64 calling convention of Windows. The offsets are those of tn_call_frame_t, and are
 * checked in enter.c. */
#if defined(__x86_64__) && defined(_WIN32)

.text

/* What the thread's environment block says of its stack: the base, the limit and the start of the allocation, which the
 * system checks when it grows a stack and when it unwinds one, and the list of handlers in frames of the stack, which only
 * Wine has on this processor. */
#define STACK_HANDLERS %gs:0
#define STACK_BASE %gs:8
#define STACK_LIMIT %gs:16
#define STACK_ALLOCATION %gs:0x1478

/* uint32_t tn__on_stack(void *top, uint32_t (*run)(void *data), void *data, void **left)
 *
 * Those of a stack that is not in use are in the four words from its `top` on. */
.p2align 4
.globl tn__on_stack
.def tn__on_stack; .scl 2; .type 32; .endef
.seh_proc tn__on_stack
tn__on_stack:
  endbr64
  pushq %rbp
  .seh_pushreg %rbp
  pushq %rbx
  .seh_pushreg %rbx
  subq $88, %rsp
  .seh_stackalloc 88
  movq %rsp, %rbp
  .seh_setframe %rbp, 0
  .seh_endprologue
  /* `run` restores them, but a collector of garbage that scans the stack of JavaScript must find them there. */
  movq %rsi, 32(%rsp)
  movq %rdi, 40(%rsp)
  movq %r12, 48(%rsp)
  movq %r13, 56(%rsp)
  movq %r14, 64(%rsp)
  movq %r15, 72(%rsp)
  movq %rcx, %rbx
  movq STACK_BASE, %rax
  movq %rax, (%rsp)
  movq STACK_LIMIT, %rax
  movq %rax, 8(%rsp)
  movq STACK_ALLOCATION, %rax
  movq %rax, 16(%rsp)
  movq STACK_HANDLERS, %rax
  movq %rax, 24(%rsp)
  movq %rsp, (%r9)
  movq (%rbx), %rax
  movq %rax, STACK_BASE
  movq 8(%rbx), %rax
  movq %rax, STACK_LIMIT
  movq 16(%rbx), %rax
  movq %rax, STACK_ALLOCATION
  movq 24(%rbx), %rax
  movq %rax, STACK_HANDLERS
  /* The home space of `run`. */
  leaq -32(%rbx), %rsp
  movq %r8, %rcx
  call *%rdx
  /* The result stays in rax. The system may have grown the stack. */
  movq STACK_LIMIT, %rcx
  movq %rcx, 8(%rbx)
  movq (%rbp), %rcx
  movq %rcx, STACK_BASE
  movq 8(%rbp), %rcx
  movq %rcx, STACK_LIMIT
  movq 16(%rbp), %rcx
  movq %rcx, STACK_ALLOCATION
  movq 24(%rbp), %rcx
  movq %rcx, STACK_HANDLERS
  leaq 88(%rbp), %rsp
  popq %rbx
  popq %rbp
  ret
.seh_endproc

/* The handlers of frames serve both phases. libgcc asks for the place to go on in the first, libunwind in the second. */

/* uint32_t tn__run_entry(void *call): calls an entry, which is the first word of `call`, with the second word. */
.p2align 4
.globl tn__run_entry
.def tn__run_entry; .scl 2; .type 32; .endef
.seh_proc tn__run_entry
.seh_handler tn__exception_handler, @unwind, @except
tn__run_entry:
  endbr64
  pushq %rbp
  .seh_pushreg %rbp
  subq $32, %rsp
  .seh_stackalloc 32
  movq %rsp, %rbp
  .seh_setframe %rbp, 0
  .seh_endprologue
  movq (%rcx), %rax
  movq 8(%rcx), %rcx
  call *%rax
  /* The system does not call the handler of a frame whose epilogue comes next. */
  nop
1:
  leaq 32(%rbp), %rsp
  popq %rbp
  ret
  /* The unwinder jumps here with the exception in rax, and has restored the other registers. */
tn__run_entry_caught:
  endbr64
  movq %rbp, %rsp
  movq %rax, %rcx
  call tn__catch
  jmp 1b
.seh_handlerdata
  /* The distance of the code where the handler goes on. */
  .long tn__run_entry_caught - .
.text
.seh_endproc

/* uint32_t tn__invoke(void *frame) */
.p2align 4
.globl tn__invoke
.def tn__invoke; .scl 2; .type 32; .endef
.seh_proc tn__invoke
.seh_handler tn__exception_handler, @unwind, @except
tn__invoke:
  endbr64
  pushq %rbp
  .seh_pushreg %rbp
  pushq %rbx
  .seh_pushreg %rbx
  subq $8, %rsp
  .seh_stackalloc 8
  movq %rsp, %rbp
  .seh_setframe %rbp, 0
  .seh_endprologue
  movq %rcx, %rbx
  /* The last word is pushed first, so that the pages of the stack are touched in order. */
  movl 12(%rbx), %ecx
1:
  subq $8, %rcx
  jb 2f
  pushq 208(%rbx, %rcx)
  jmp 1b
2:
  testb $1, 8(%rbx)
  jz 3f
  movsd 144(%rbx), %xmm0
  movsd 152(%rbx), %xmm1
  movsd 160(%rbx), %xmm2
  movsd 168(%rbx), %xmm3
3:
  movq 80(%rbx), %rcx
  movq 88(%rbx), %rdx
  movq 96(%rbx), %r8
  movq 104(%rbx), %r9
  /* The home space of the target. */
  subq $32, %rsp
  call *(%rbx)
  movq %rax, 32(%rbx)
  movsd %xmm0, 48(%rbx)
  xorl %eax, %eax
4:
  leaq 8(%rbp), %rsp
  popq %rbx
  popq %rbp
  ret
  /* The unwinder jumps here with the exception in rax, and has restored the other registers. */
tn__invoke_caught:
  endbr64
  movq %rax, 32(%rbx)
  movl $1, %eax
  jmp 4b
.seh_handlerdata
  /* The distance of the code where the handler goes on. */
  .long tn__invoke_caught - .
.text
.seh_endproc

/* Where stubs jump with their slot in r11. Saves the arguments in a tn__registers_t, and returns what it then holds. */
.p2align 4
.globl tn__stub_common
.def tn__stub_common; .scl 2; .type 32; .endef
.seh_proc tn__stub_common
tn__stub_common:
  endbr64
  subq $216, %rsp
  .seh_stackalloc 216
  .seh_endprologue
  /* The registers are at 32(%rsp), above the home space of tn__stub_enter. */
  movq %rcx, 80(%rsp)
  movq %rdx, 88(%rsp)
  movq %r8, 96(%rsp)
  movq %r9, 104(%rsp)
  movsd %xmm0, 144(%rsp)
  movsd %xmm1, 152(%rsp)
  movsd %xmm2, 160(%rsp)
  movsd %xmm3, 168(%rsp)
  movq %r11, %rcx
  leaq 32(%rsp), %rdx
  /* The stack arguments are above the return address and the caller's home space. */
  leaq 256(%rsp), %r8
  call tn__stub_enter
  movq 32(%rsp), %rax
  movsd 48(%rsp), %xmm0
  addq $216, %rsp
  ret
.seh_endproc

/* 4096 stubs of 16 bytes each, one for each slot of 32 bytes in tn__static_slots. */
.p2align 4
.globl tn__static_stubs
.def tn__static_stubs; .scl 2; .type 32; .endef
tn__static_stubs:
.set slot, 0
.rept 4096
  endbr64
  leaq tn__static_slots + slot(%rip), %r11
  /* A jump with 4 bytes of distance, whatever the distance is. */
  .byte 0xe9
  .long tn__stub_common - . - 4
  .set slot, slot + 32
.endr

#endif
