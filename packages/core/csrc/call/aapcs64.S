/* Calls between the frame and the procedure call standard of AArch64, in ELF and Mach-O. Apple's variant differs only in
 * the layout of the stack area, which the plan decides. The offsets are those of tn_call_frame_t, and are checked in
 * enter.c. */
#if defined(__aarch64__) && !defined(_WIN32)

#if defined(__APPLE__)
#define NAME(name) _##name
#define HIDDEN(name) .private_extern _##name
#define FUNCTION(name)
#define END(name)
#define CATCHES .cfi_personality 155, _tn__personality
#define PAGE(name, offset) _##name@PAGE + offset
#define IN_PAGE(name, offset) _##name@PAGEOFF + offset
#else
#define NAME(name) name
#define HIDDEN(name) .hidden name
#define FUNCTION(name) .type name, %function
#define END(name) .size name, . - name
#define PAGE(name, offset) name + offset
#define IN_PAGE(name, offset) :lo12:name + offset
/* Encodings: 155 is the relative address of a pointer, 27 a relative address, both in 4 bytes. */
#define CATCHES .cfi_personality 155, tn__personality_pointer

.section .data.rel.ro.tn__personality_pointer, "aw", %progbits
.p2align 3
tn__personality_pointer:
  .xword tn__personality
#endif

/* `bti c`, as a hint that every assembler and every processor knows. */
#define BTI_C hint #34

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
  BTI_C
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa x29, 16
  /* `run` restores them, but a collector of garbage that scans the stack of JavaScript must find them there. */
  stp x19, x20, [sp, #-16]!
  stp x21, x22, [sp, #-16]!
  stp x23, x24, [sp, #-16]!
  stp x25, x26, [sp, #-16]!
  stp x27, x28, [sp, #-16]!
  mov x9, sp
  str x9, [x3]
  mov sp, x0
  mov x0, x2
  blr x1
1:
  .cfi_remember_state
  mov sp, x29
  .cfi_def_cfa sp, 16
  ldp x29, x30, [sp], #16
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_restore_state
  /* The unwinder jumps here with the exception in x0, on the stack of `run`. */
.globl NAME(tn__on_stack_caught)
HIDDEN(tn__on_stack_caught)
NAME(tn__on_stack_caught):
  hint #36 /* bti j */
  bl NAME(tn__catch)
  b 1b
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
  BTI_C
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  mov x29, sp
  .cfi_def_cfa x29, 32
  str x19, [sp, #16]
  .cfi_offset x19, -16
  mov x19, x0
  /* The last words are pushed first, so that the pages of the stack are touched in order. */
  ldp w10, w9, [x19, #8]
  add x11, x19, #208
  add x12, x11, x9
1:
  cmp x12, x11
  b.eq 2f
  ldp x13, x14, [x12, #-16]!
  stp x13, x14, [sp, #-16]!
  b 1b
2:
  tbz w10, #0, 3f
  ldp d0, d1, [x19, #144]
  ldp d2, d3, [x19, #160]
  ldp d4, d5, [x19, #176]
  ldp d6, d7, [x19, #192]
3:
  ldp x0, x1, [x19, #80]
  ldp x2, x3, [x19, #96]
  ldp x4, x5, [x19, #112]
  ldp x6, x7, [x19, #128]
  ldr x8, [x19, #16]
  ldr x16, [x19]
  blr x16
  stp x0, x1, [x19, #32]
  stp d0, d1, [x19, #48]
  stp d2, d3, [x19, #64]
  mov w0, #0
4:
  mov sp, x29
  .cfi_remember_state
  .cfi_def_cfa sp, 32
  ldr x19, [sp, #16]
  .cfi_restore x19
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_restore_state
  /* The unwinder jumps here with the exception in x0, and has restored the other registers. */
.globl NAME(tn__invoke_caught)
HIDDEN(tn__invoke_caught)
NAME(tn__invoke_caught):
  hint #36 /* bti j */
  str x0, [x19, #32]
  mov w0, #1
  b 4b
  .cfi_endproc
END(tn__invoke)

/* Where stubs jump with their slot in x17. Saves the arguments in a tn__registers_t, and returns what it then holds. */
.p2align 4
.globl NAME(tn__stub_common)
HIDDEN(tn__stub_common)
FUNCTION(tn__stub_common)
NAME(tn__stub_common):
  .cfi_startproc
  BTI_C
  stp x29, x30, [sp, #-208]!
  .cfi_def_cfa_offset 208
  .cfi_offset x29, -208
  .cfi_offset x30, -200
  mov x29, sp
  .cfi_def_cfa x29, 208
  stp x0, x1, [sp, #64]
  stp x2, x3, [sp, #80]
  stp x4, x5, [sp, #96]
  stp x6, x7, [sp, #112]
  stp d0, d1, [sp, #128]
  stp d2, d3, [sp, #144]
  stp d4, d5, [sp, #160]
  stp d6, d7, [sp, #176]
  str x8, [sp, #192]
  mov x0, x17
  add x1, sp, #16
  add x2, sp, #208
  bl NAME(tn__stub_enter)
  ldp x0, x1, [sp, #16]
  ldp d0, d1, [sp, #32]
  ldp d2, d3, [sp, #48]
  .cfi_def_cfa sp, 208
  ldp x29, x30, [sp], #208
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
END(tn__stub_common)

/* 4096 stubs of TN__STUB_CODE_SIZE bytes each, one for each slot of 32 bytes in tn__static_slots.
 * Labels that begin with L stay out of the symbol table of Mach-O. */
.p2align 5
.globl NAME(tn__static_stubs)
HIDDEN(tn__static_stubs)
FUNCTION(tn__static_stubs)
NAME(tn__static_stubs):
.set Lslot, 0
.rept 4096
  BTI_C
  adrp x17, PAGE(tn__static_slots, Lslot)
  add x17, x17, IN_PAGE(tn__static_slots, Lslot)
  b NAME(tn__stub_common)
  .p2align 5
  .set Lslot, Lslot + 32
.endr
END(tn__static_stubs)

#if defined(__ELF__)
.section .note.GNU-stack, "", %progbits
#endif
#endif
