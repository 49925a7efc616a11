/* The signature of a kernel: one line of text beside the kernel, from which Tenon derives the call, its checks, the shell
 * command and the declarations. docs/signatures.md describes the language.
 *
 * TN_SIGNATURE(name, text) defines `const char name__tn_signature[sizeof(text)]` and exports it, with C linkage, even if
 * the library is built with hidden visibility, optimised at link time, stripped, or linked with --gc-sections. Tools read
 * the text from the file and do not load the library. `text` is a string literal in UTF-8, or several adjacent ones, with
 * at most 65536 bytes. The kernel itself must be exported too, for example with TN_XLA_EXPORT (tenon/xla_mark.h).
 *
 *   the function                                    what the text describes
 *   name alone                                      a typed handler, which needs no other mark (xla_ffi.h)
 *   name with TN_XLA_MARK_HOST*(name)               a host function of the marked convention (xla_custom_call.h)
 *   name or __tvm_ffi_name                          the packed function __tvm_ffi_name (tvm_ffi.h)
 *
 * Example, at file scope:
 *
 *   TN_XLA_EXPORT tn_xla_error_t *softmax(tn_xla_call_frame_t *frame) { ... }
 *   TN_SIGNATURE(softmax, "(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis.");
 *
 * A linker script or an export list that names the exported symbols must name `name__tn_signature` as well.
 */
#ifndef TENON_SIGNATURE_H
#define TENON_SIGNATURE_H

#if defined(_WIN32)
#define TN_SIGNATURE_VISIBLE __declspec(dllexport)
#else
#define TN_SIGNATURE_VISIBLE __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define TN_SIGNATURE_EXPORT extern "C" TN_SIGNATURE_VISIBLE
#else
#define TN_SIGNATURE_EXPORT extern TN_SIGNATURE_VISIBLE
#endif

/* Keeps the constant, although no code refers to it. `retain` is for the linker, and exists only for ELF. */
#if defined(__ELF__) && defined(__has_attribute)
#if __has_attribute(retain)
#define TN_SIGNATURE_KEEP __attribute__((used, retain))
#endif
#endif
#ifndef TN_SIGNATURE_KEEP
#if defined(__GNUC__)
#define TN_SIGNATURE_KEEP __attribute__((used))
#else
#define TN_SIGNATURE_KEEP
#endif
#endif

/* The declaration is needed because constants have internal linkage in C++. */
#define TN_SIGNATURE(name, text)                                     \
  TN_SIGNATURE_EXPORT const char name##__tn_signature[sizeof(text)]; \
  TN_SIGNATURE_KEEP const char name##__tn_signature[sizeof(text)] = text

#endif
