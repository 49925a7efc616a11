/* The base of Tenon's native core. Each larger topic has a header of its own, which includes this one: tenon_call.h,
 * tenon_xla.h, tenon_tvm.h, tenon_tstring.h and tenon_pools.h.
 *
 * These rules hold for every function of the core:
 * - it returns an int32_t status (0, or a negative code of status.def), except for pure getters;
 * - results are written through pointers, and only on success;
 * - strings are (pointer, length) spans of UTF-8, never NUL-terminated unless a comment says so;
 * - sizes and offsets are bytes;
 * - a failing function leaves a message for tn_last_error() on the calling thread;
 * - it may be called from any thread unless a comment says otherwise.
 */
#ifndef TENON_H
#define TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TN_API __declspec(dllexport)
#else
#define TN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
#define TN_STATUS(name, value, text) TN_##name = (value),
#include "status.def"
#undef TN_STATUS
} tn_status_t;

/* --- base/status.c ------------------------------------------------------------------------------------------------- */

/* The version of this ABI. It never changes its signature; a caller compares it with the one it was built for. */
TN_API uint32_t tn_abi_version(void);

/* The version of the package this library belongs to: static, NUL-terminated. */
TN_API const char *tn_version(void);

/* The meaning of a status code: static, NUL-terminated; "unknown status" for one that isn't in the table. */
TN_API const char *tn_status_text(int32_t status);

/* The message of the calling thread's last failure, NUL-terminated, owned by the thread, valid until its next failure. */
TN_API const char *tn_last_error(void);

/* --- base/memory.c ------------------------------------------------------------------------------------------------- */

/* Allocates `byte_size` zeroed bytes at a multiple of `byte_alignment` (a power of two). Zero bytes give a distinct,
 * real address. The caller owns the block and gives it back with tn_memory_free(). */
TN_API int32_t tn_memory_allocate(size_t byte_size, size_t byte_alignment, void **out);

/* Frees a block of tn_memory_allocate(); null is a no-op. */
TN_API void tn_memory_free(void *block);

/* Copies bytes between blocks that don't overlap: for callers who have addresses and no views. */
TN_API void tn_memory_copy(void *to, const void *from, size_t byte_size);

/* --- base/posix/library.c ------------------------------------------------------------------------------------------------ */

/* Opens a library with the system's loader, all symbols bound at once, and never unmaps it. `path` is UTF-8. On
 * failure the loader's own message is the last error. */
TN_API int32_t tn_library_open(const char *path, size_t path_length, void **out);

/* What is loaded into this process for everybody, as a library: the program, and what it was linked with. */
TN_API int32_t tn_library_process(void **out);

/* The address of a symbol of an opened library; TN_NOT_FOUND if it has none. */
TN_API int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out);

/* The path of the first Tenon core that this process loaded globally and its version: NUL-terminated, static. Lets two
 * copies of different versions refuse each other. */
TN_API int32_t tn_first_core(const char **path, const char **version);

/* --- base/posix/watch.c ------------------------------------------------------------------------------------------------------ */

/* Watches a descriptor from a thread of its own, and tells through a socket, owned by the caller: it gets one byte when the
 * descriptor is readable, and another one for each byte that the caller writes back, when it is readable again. Closing
 * the socket ends the watch. The descriptor is duplicated. */
TN_API int32_t tn_watch_open(int32_t descriptor, int32_t *socket);

/* --- base/posix/mapping.c, base/posix/fault_guard.c -------------------------------------------------------------- */

/* Windows does not export the functions from here to the end of this header. */

#define TN_MAPPING_SHARED 1u  /* readable and writable, shared with everybody; else private copies of written pages */
#define TN_MAPPING_GUARDED 2u /* a page that the file no longer has reads as zeros and is counted, instead of SIGBUS */

/* Maps bytes of a descriptor, which may be closed afterwards. `offset` is a multiple of the page. Undone with
 * tn_mapping_close(). */
TN_API int32_t tn_mapping_open(int32_t descriptor, uint64_t offset, size_t byte_size, uint32_t flags, void **out);

/* Unmaps what tn_mapping_open() mapped. */
TN_API int32_t tn_mapping_close(void *address, size_t byte_size);

/* Takes the memory away but keeps the addresses: zeroed private pages stand there, so that an access that is still under
 * way on another thread stays harmless. Later closed with tn_mapping_close(). */
TN_API int32_t tn_mapping_retire(void *address, size_t byte_size);

/* How many pages of a guarded mapping were missing when they were touched. */
TN_API int32_t tn_mapping_faults(void *address, uint64_t *out);

/* Waits until what was written through a shared mapping of a file is on its device. */
TN_API int32_t tn_mapping_sync(void *address, size_t byte_size);

/* What is mapped in this process at the moment. */
TN_API void tn_mapping_totals(uint64_t *count, uint64_t *byte_size);

/* --- base/posix/pages.c -------------------------------------------------------------------------------------------------- */

/* The size of a page, in bytes: a power of two. */
TN_API size_t tn_page_size(void);

/* Maps zeroed pages with a protected page behind them, which faults when it is touched. `byte_size` is a multiple of the
 * page. The caller owns them and gives them back with tn_pages_close(). TN_OUT_OF_MEMORY when the process has no more
 * mappings. */
TN_API int32_t tn_pages_open(size_t byte_size, void **out);

/* Gives the pages' contents back to the system and lets every later access fault; the addresses stay taken. */
TN_API int32_t tn_pages_protect(void *address, size_t byte_size);

/* Unmaps what tn_pages_open() mapped, with the same size. */
TN_API int32_t tn_pages_close(void *address, size_t byte_size);

/* Tells the system whether pages of a file's mapping will be needed soon (1) or not (0). `address` is a page's. Never 0 for
 * a private mapping that was written to: it would lose its changes. */
TN_API int32_t tn_pages_advise(void *address, size_t byte_size, int32_t needed);

/* How many of the pages are in memory. `address` is a page's. */
TN_API int32_t tn_pages_resident(void *address, size_t byte_size, uint64_t *out);

/* --- base/posix/guard_report.c ------------------------------------------------------------------------------------------- */

/* Names pages of tn_pages_open(), so that a crash in them says on stderr which segment was meant: the one of `length` bytes
 * at `address + start`. The name is UTF-8, cut after 95 bytes. Undone with tn_guard_report_remove(), before the pages are
 * unmapped. */
TN_API int32_t tn_guard_report_add(void *address, size_t byte_size, size_t start, size_t length, const char *name,
                                   size_t name_length);

TN_API void tn_guard_report_remove(void *address);

#ifdef __cplusplus
}
#endif

#endif
