/* The base of Tenon's native core. Each larger topic has a header of its own, which includes this one: tenon_call.h,
 * tenon_convert.h, tenon_xla.h, tenon_tvm.h, tenon_tstring.h, tenon_pools.h and tenon_nnapi.h.
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

typedef enum {
#define TN_STATUS(name, value, text) TN_##name = (value),
#include "status.def"
#undef TN_STATUS
} tn_status_t;

/* --- base/status.c ------------------------------------------------------------------------------------------------ */

/* The version of this ABI. */
#define TN_ABI_VERSION 1u

/* The TN_ABI_VERSION of the library, to compare with the one a caller was built for. Its signature never changes. */
TN_API uint32_t tn_abi_version(void);

/* The version of @tenon/core: static, NUL-terminated. */
TN_API const char *tn_version(void);

/* The message of the thread's last failure: NUL-terminated, owned by the thread, valid until its next failure. */
TN_API const char *tn_last_error(void);

/* --- base/memory.c ------------------------------------------------------------------------------------------------ */

/* Allocates `byte_size` zeroed bytes at a multiple of `byte_alignment` (a power of two). A block of zero bytes has an
 * address of its own too. The caller owns the block and frees it with tn_memory_free(). */
TN_API int32_t tn_memory_allocate(size_t byte_size, size_t byte_alignment, void **out);

/* Frees a block of tn_memory_allocate(); null is a no-op. */
TN_API void tn_memory_free(void *block);

/* Copies bytes between blocks that do not overlap, for callers that have addresses instead of views. */
TN_API void tn_memory_copy(void *to, const void *from, size_t byte_size);

/* The number of bytes before the terminator of a text: `limit` if there is none in as many bytes. Reads no byte after the terminator. */
TN_API size_t tn_text_length(const char *text, size_t limit);

/* --- base/probes.c ------------------------------------------------------------------------------------------------ */

/* Whether the library has the probes `tenon:call__begin` and `tenon:call__end` of USDT, as 0 or 1. */
TN_API int32_t tn_probes_exist(void);

/* Pass the probes. The texts are NUL-terminated. `call` is a number that the begin and the end of a call share. */
TN_API void tn_probe_begin(const char *kernel, const char *convention, uint64_t call);
TN_API void tn_probe_end(const char *kernel, const char *convention, uint64_t call, uint64_t queue_ns, uint64_t run_ns,
                         int32_t failed);

/* --- base/posix/library.c, library_file.c, function_symbol.c -------------------------------------------------------------- */

/* Opens a library with the system's loader, binds all symbols at once, and never unmaps it. If the program itself exports functions
 * of the file, the library uses its own. A path is that of the file
 * which is there now, although the loader has opened another file by the same path. TN_LOAD_FAILED also if the file was
 * overwritten after it was opened. Windows does not compare files. */
TN_API int32_t tn_library_open(const char *path, size_t path_length, void **out);

/* Whether this program itself exports functions of the library at a NUL-terminated path, so that tn_library_open() must have the path
 * and not a name that the loader searches for. Always 0 where the loader has no such case. */
TN_API int32_t tn_library_is_shadowed(const char *path);

/* Does the same, and makes the symbols of the library visible to all libraries that are opened later. */
TN_API int32_t tn_library_open_globally(const char *path, size_t path_length, void **out);

/* The library that this process has loaded under a NUL-terminated name (a soname), or null. It stays loaded. Always null on Windows. */
TN_API void *tn_library_loaded(const char *name);

/* Opens the library that contains this function, globally. */
TN_API int32_t tn_library_open_core(void **out);

/* The global symbols of this process as a library: those of the program and of the libraries it is linked with. */
TN_API int32_t tn_library_process(void **out);

/* Looks up a symbol of an opened library. TN_NOT_FOUND: the library does not export it. */
TN_API int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out);

/* Looks up a version of a symbol, such as "GLIBC_2.2.5". TN_UNSUPPORTED: the system's loader has no versions. */
TN_API int32_t tn_library_versioned_symbol(void *library, const char *name, size_t name_length, const char *version,
                                           size_t version_length, void **out);

/* Looks up a function. TN_NOT_FOUND: the library does not export it. TN_INVALID_ARGUMENT: the symbol is a variable, or a
 * thread-local one. macOS does not tell. */
TN_API int32_t tn_library_function(void *library, const char *name, size_t name_length, void **out);

/* Whether an address is that of data of a library. 0 also if it is in no library. */
TN_API int32_t tn_address_is_data(const void *address);

/* The path and version of the first Tenon core that this process loaded globally: static, NUL-terminated. Copies of
 * different versions use it to refuse each other. */
TN_API int32_t tn_first_core(const char **path, const char **version);

/* --- base/posix/watch.c ------------------------------------------------------------------------------------------- */

/* Watches a duplicate of a descriptor on a thread of its own. The caller owns the socket: it receives a byte when the
 * descriptor is readable, and one more for each byte that the caller writes, once the descriptor is readable again.
 * Closing the socket ends the watch. */
TN_API int32_t tn_watch_open(int32_t descriptor, int32_t *socket);

/* --- base/posix/watcher.c ----------------------------------------------------------------------------------------- */

/* Windows does not export the functions from here to the end of this header. */

/* Watches a duplicate of a descriptor on the thread that all watches share, which calls `readable(data)` once when the descriptor is
 * readable, and once more after each tn_watcher_again(). No lock of the core is locked meanwhile. Descriptors that cannot be waited for,
 * such as those of files, are refused. */
TN_API int32_t tn_watcher_add(int32_t descriptor, void (*readable)(void *data), void *data, uint64_t *watch);

/* Unknown ids are ignored. Any thread may call it, also from `readable`. */
TN_API void tn_watcher_again(uint64_t watch);

/* Ends a watch, and waits while its function runs, and for the end of the thread after the last watch. So `readable` must not call it.
 * Unknown ids are ignored. */
TN_API void tn_watcher_remove(uint64_t watch);

/* --- base/posix/mapping.c, base/posix/fault_guard.c --------------------------------------------------------------- */

/* As tn_library_open(), if the path is that of a certain file. Its identity is the text "device inode size time", in decimal,
 * with the time of its last change in nanoseconds. */
TN_API int32_t tn_library_open_file(const char *path, size_t path_length, const char *identity, size_t identity_length,
                                    void **out);

/* The bytes of an identity, with its terminator. */
#define TN_IDENTITY_SIZE 96

/* Writes the identity of the file that is at a path now to `out`, which has TN_IDENTITY_SIZE bytes. The files of some runtimes have no
 * nanoseconds. TN_NOT_FOUND: no file has the path, or the path is a name that the loader searches for. */
TN_API int32_t tn_library_identity(const char *path, size_t path_length, char *out);

#define TN_MAPPING_SHARED 1u  /* writes go to the file; without it, written pages are private copies */
#define TN_MAPPING_GUARDED 2u /* pages that the file does not have read as zeros and are recorded, without SIGBUS */
#define TN_MAPPING_OF_THREAD 4u /* the end of the thread unmaps it: see tn_thread_memory_begin() */

/* Maps bytes of a descriptor, which may be closed afterwards. `offset` is a multiple of the page size. */
TN_API int32_t tn_mapping_open(int32_t descriptor, uint64_t offset, size_t byte_size, uint32_t flags, void **out);

TN_API int32_t tn_mapping_close(void *address, size_t byte_size);

/* Replaces a mapping with zeroed private pages, so that an access that is still in progress on another thread is
 * harmless. tn_mapping_close() unmaps them later. */
TN_API int32_t tn_mapping_retire(void *address, size_t byte_size);

/* The number of pages of a part of a guarded mapping that were missing when they were accessed: behind the end of the file, or where the
 * file system has no room for a page that is written. Each is memory of this process since then. */
TN_API int32_t tn_mapping_missing(const void *address, size_t byte_size, uint64_t *out);

/* The offset in a guarded mapping of the first byte whose write did not reach the file, or UINT64_MAX if there is none. `available` is the
 * number of bytes from the start of the mapping to the end of the file, or more. Zeros that were written where the file reads as zeros are
 * not counted. */
TN_API int32_t tn_mapping_lost(void *address, uint64_t available, uint64_t *out);

/* Takes room on the file system for bytes of a file, which are in the file already, so that writing to a mapping of them cannot fail
 * for lack of room. Has no effect where the file system cannot reserve room. */
TN_API int32_t tn_file_reserve(int32_t descriptor, uint64_t offset, uint64_t byte_size);

/* Waits until the writes to a shared mapping of a file have reached its device. */
TN_API int32_t tn_mapping_sync(void *address, size_t byte_size);

/* The number and size of all mappings of this process that are open. */
TN_API void tn_mapping_totals(uint64_t *count, uint64_t *byte_size);

/* --- base/posix/pages.c ------------------------------------------------------------------------------------------- */

/* The size of a page: a power of two. */
TN_API size_t tn_page_size(void);

/* Maps zeroed pages and, after them, a protected page. `byte_size` is a multiple of the page size. The caller owns the
 * pages and unmaps them with tn_pages_close() and the same size. TN_OUT_OF_MEMORY: the process has no mappings left. */
TN_API int32_t tn_pages_open(size_t byte_size, void **out);

/* Gives the contents back to the system and makes every later access fault. The addresses stay reserved. */
TN_API int32_t tn_pages_protect(void *address, size_t byte_size);

TN_API int32_t tn_pages_close(void *address, size_t byte_size);

/* Advises the system that pages of a mapped file will be needed soon (1) or not (0). `address` is the start of a page.
 * With 0, a private mapping loses its changes. */
TN_API int32_t tn_pages_advise(void *address, size_t byte_size, int32_t needed);

/* The number of pages that are in memory. `address` is the start of a page. */
TN_API int32_t tn_pages_resident(void *address, size_t byte_size, uint64_t *out);

/* --- base/posix/guard_report.c ------------------------------------------------------------------------------------ */

/* Makes a crash in pages of tn_pages_open() report the segment of `length` bytes at `address + start` on stderr. The
 * name is cut after 95 bytes. Call tn_guard_report_remove() before the pages are unmapped. */
TN_API int32_t tn_guard_report_add(void *address, size_t byte_size, size_t start, size_t length, const char *name,
                                   size_t name_length);

TN_API void tn_guard_report_remove(void *address);

/* --- base/posix/guarded.c ----------------------------------------------------------------------------------------- */

/* Memory on pages of its own, which end at a protected page. */
typedef struct tn_guarded tn_guarded_t;

/* Opens zeroed memory that ends as close to the protected page as its alignment allows. A pattern fills the bytes around
 * it, and the report of a crash has the name. out[0] is the block, out[1] the address of the memory. TN_OUT_OF_MEMORY: no
 * mapping is left, or the process has `most` blocks. */
TN_API int32_t tn_guarded_open(size_t byte_size, size_t byte_alignment, uint64_t most, const char *name,
                               size_t name_length, uint64_t *out);

/* Counts the bytes of the pattern that were changed, and restores them. out: the count before the memory, the distance of
 * the first of them from its start, the count behind it, and the distance of the first of them from its end. */
TN_API void tn_guarded_check(const tn_guarded_t *block, uint64_t *out);

/* Makes every later access fault, and unmaps memory that was freed long ago. Damage that no check has found is reported on
 * stderr. Any thread may call it. */
TN_API void tn_guarded_free(tn_guarded_t *block);

/* The blocks that are mapped, also those that were freed lately. */
TN_API uint64_t tn_guarded_count(void);

/* --- base/posix/crash.c, modules.c -------------------------------------------------------------------------------- */

#define TN_CRASH_FRAMES 64
#define TN_CRASH_EXCEPTION 128
#define TN_MODULE_BUILD_ID 36

/* A fatal signal of one thread. */
typedef struct tn_crash {
  int32_t signal;
  int32_t code;      /* si_code */
  uint64_t address;  /* of an invalid access; UINT64_MAX if the system did not report it */
  uint32_t access;   /* 0 unknown, 1 read, 2 write, 3 a jump to the address */
  uint32_t is_stack; /* 1: the address is beside the stack pointer, because the stack is full */
  uint64_t exact;    /* bit i: pcs[i] is the address of an instruction, and not one of a return */
  uint32_t frames;   /* the number of program counters */
  uint32_t reserved;
  uint64_t pcs[TN_CRASH_FRAMES];      /* innermost first */
  char exception[TN_CRASH_EXCEPTION]; /* the mangled type of the C++ exception that ended the process; NUL-terminated */
} tn_crash_t;

/* Finds what tn_crash_record() needs. Called at first, and again once a library was loaded. TN_UNSUPPORTED on systems without
 * records. */
TN_API int32_t tn_crash_prepare(void);

/* Describes a fatal signal, from its handler: `info` is a siginfo_t, and `context` a ucontext_t. The frames are written one by one, so
 * that those before a damaged part of the stack stay. Handlers of signals may call it. */
TN_API void tn_crash_record(int32_t number, const void *info, void *context, tn_crash_t *out);

/* A file with code in this process. Its path follows it, absolute and without NUL, and then the next module at a multiple of 8 bytes. */
typedef struct tn_module {
  uint32_t size;          /* of this struct and the path, with the bytes up to the next module; 0 in the last one, which has no file */
  uint32_t path_length;
  uint64_t bias;          /* of its addresses from those in its file */
  uint64_t start;         /* of its code; the code ends at `end` */
  uint64_t end;
  uint64_t byte_size;     /* of the file, its inode and the time in ms when it was changed, by which a file without build ID is known */
  uint64_t inode;
  int64_t changed;
  uint32_t build_id_size; /* 0 for none */
  uint8_t build_id[TN_MODULE_BUILD_ID];
} tn_module_t;

/* Writes a list of tn_module_t. Modules that do not fit are left out. Returns the number of bytes without the last entry. It allocates memory
 * for libraries with relative paths alone, and locks the loader. */
TN_API uint64_t tn_modules_write(uint8_t *out, uint64_t capacity);

#endif
