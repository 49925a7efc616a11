/* Calls between the frame and the System V ABI of x86-64: Linux, macOS and the BSDs. The offsets are those of
 * tn_call_frame_t, and are checked in enter.c. */
#if defined(__x86_64__) && !defined(_WIN32)

#if defined(__APPLE__)
#define NAME(name) _##name
#define HIDDEN(name) .private_extern _##name
#define FUNCTION(name)
#define END(name)
#define CATCHES .cfi_personality 155, _tn__personality
#else
#define NAME(name) name
#define HIDDEN(name) .hidden name
#define FUNCTION(name) .type name, @function
#define END(name) .size name, . - name
/* Encodings: 155 is the relative address of a pointer, 27 a relative address, both in 4 bytes. */
#define CATCHES .cfi_personality 155, tn__personality_pointer

.section .data.rel.ro.tn__personality_pointer, "aw", @progbits
.p2align 3
tn__personality_pointer:
  .quad tn__personality
#endif

.text

/* uint32_t tn__on_stack(void *top, uint32_t (*run)(void *data), void *data, void **left) */
.p2align 4
.globl NAME(tn__on_stack)
HIDDEN(tn__on_stack)
FUNCTION(tn__on_stack)
NAME(tn__on_stack):
  .cfi_startproc
  CATCHES
  .cfi_lsda 27, NAME(tn__on_stack_caught)
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  /* `run` restores them, but a collector of garbage that scans the stack of JavaScript must find them there. */
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  movq %rsp, (%rcx)
  movq %rdi, %rsp
  movq %rdx, %rdi
  call *%rsi
1:
  .cfi_remember_state
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_restore_state
  /* The unwinder jumps here with the exception in rax, on the stack of `run`. */
.globl NAME(tn__on_stack_caught)
HIDDEN(tn__on_stack_caught)
NAME(tn__on_stack_caught):
  endbr64
  movq %rax, %rdi
  call NAME(tn__catch)
  jmp 1b
  .cfi_endproc
END(tn__on_stack)

/* uint32_t tn__invoke(void *frame) */
.p2align 4
.globl NAME(tn__invoke)
HIDDEN(tn__invoke)
FUNCTION(tn__invoke)
NAME(tn__invoke):
  .cfi_startproc
  CATCHES
  .cfi_lsda 27, NAME(tn__invoke_caught)
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  pushq %r12
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  movq %rdi, %rbx
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
  movsd 176(%rbx), %xmm4
  movsd 184(%rbx), %xmm5
  movsd 192(%rbx), %xmm6
  movsd 200(%rbx), %xmm7
3:
  movq 80(%rbx), %rdi
  movq 88(%rbx), %rsi
  movq 96(%rbx), %rdx
  movq 104(%rbx), %rcx
  movq 112(%rbx), %r8
  movq 120(%rbx), %r9
  movq 16(%rbx), %rax
  call *(%rbx)
  movq %rax, 32(%rbx)
  movq %rdx, 40(%rbx)
  movsd %xmm0, 48(%rbx)
  movsd %xmm1, 56(%rbx)
  xorl %eax, %eax
4:
  leaq -16(%rbp), %rsp
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_restore_state
  /* The unwinder jumps here with the exception in rax, and has restored the other registers. */
.globl NAME(tn__invoke_caught)
HIDDEN(tn__invoke_caught)
NAME(tn__invoke_caught):
  endbr64
  movq %rax, 32(%rbx)
  movl $1, %eax
  jmp 4b
  .cfi_endproc
END(tn__invoke)

/* Where stubs jump with their slot in r11. Saves the arguments in a tn__registers_t, and returns what it then holds. */
.p2align 4
.globl NAME(tn__stub_common)
HIDDEN(tn__stub_common)
FUNCTION(tn__stub_common)
NAME(tn__stub_common):
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $192, %rsp
  movq %rdi, 48(%rsp)
  movq %rsi, 56(%rsp)
  movq %rdx, 64(%rsp)
  movq %rcx, 72(%rsp)
  movq %r8, 80(%rsp)
  movq %r9, 88(%rsp)
  movsd %xmm0, 112(%rsp)
  movsd %xmm1, 120(%rsp)
  movsd %xmm2, 128(%rsp)
  movsd %xmm3, 136(%rsp)
  movsd %xmm4, 144(%rsp)
  movsd %xmm5, 152(%rsp)
  movsd %xmm6, 160(%rsp)
  movsd %xmm7, 168(%rsp)
  movq %r11, %rdi
  movq %rsp, %rsi
  leaq 16(%rbp), %rdx
  call NAME(tn__stub_enter)
  movq (%rsp), %rax
  movq 8(%rsp), %rdx
  movsd 16(%rsp), %xmm0
  movsd 24(%rsp), %xmm1
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
END(tn__stub_common)

/* 4096 stubs of 16 bytes each, one for each slot of 32 bytes in tn__static_slots.
 * Labels that begin with L stay out of the symbol table of Mach-O. */
.p2align 4
.globl NAME(tn__static_stubs)
HIDDEN(tn__static_stubs)
FUNCTION(tn__static_stubs)
NAME(tn__static_stubs):
.set Lslot, 0
.rept 4096
  endbr64
  leaq NAME(tn__static_slots) + Lslot(%rip), %r11
  /* A jump with 4 bytes of distance, whatever the distance is. */
  .byte 0xe9
  .long NAME(tn__stub_common) - . - 4
  .set Lslot, Lslot + 32
.endr
END(tn__static_stubs)

#if defined(__ELF__)
.section .note.GNU-stack, "", @progbits
#endif
#endif
