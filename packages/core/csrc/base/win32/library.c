/* The system's loader on Windows. Libraries are never unmapped, because pointers into them may still be in use. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include "base/floating_point.h"
#include "base/status.h"

static int32_t load_failed(void) {
  char reason[512];
  DWORD code = GetLastError();
  DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, reason,
                                sizeof reason, NULL);
  return tn__fail(TN_LOAD_FAILED, "%s (error %lu)", length > 0 ? reason : "the loader gave no reason", code);
}

/* A name without a directory is searched for. With a path, the dependencies are searched in the library's directory first,
 * which needs an absolute path: with a relative one, the behavior of LOAD_WITH_ALTERED_SEARCH_PATH is undefined. */
static HMODULE load(const wchar_t *path) {
  if (wcspbrk(path, L"\\/:") == NULL) return LoadLibraryExW(path, NULL, 0);
  DWORD capacity = GetFullPathNameW(path, 0, NULL, NULL);
  wchar_t *absolute = capacity == 0 ? NULL : calloc(capacity, sizeof *absolute);
  if (absolute == NULL) {
    if (capacity != 0) SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return NULL;
  }
  DWORD length = GetFullPathNameW(path, capacity, absolute, NULL);
  /* Another thread may have changed the working directory to a longer one. */
  if (length >= capacity) SetLastError(ERROR_BUFFER_OVERFLOW);
  HMODULE library = length == 0 || length >= capacity ? NULL : LoadLibraryExW(absolute, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  DWORD code = GetLastError();
  free(absolute);
  SetLastError(code);
  return library;
}

int32_t tn_library_open(const char *path, size_t path_length, void **out) {
  TN_REQUIRE(path != NULL && path_length != 0 && path_length <= 32767 && out != NULL,
             "path must have 1 to 32767 bytes, and out must not be null");
  TN_REQUIRE(memchr(path, 0, path_length) == NULL, "path must not contain a NUL character");
  int units = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, (int)path_length, NULL, 0);
  TN_REQUIRE(units > 0, "path must be valid UTF-8");
  wchar_t *wide = calloc((size_t)units + 1, sizeof *wide);
  if (wide == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot copy the path");
  MultiByteToWideChar(CP_UTF8, 0, path, (int)path_length, wide, units);
  const tn__floating_point_t floating_point = tn__floating_point_save();
  HMODULE library = load(wide);
  tn__floating_point_restore(floating_point);
  free(wide);
  if (library == NULL) return load_failed();
  *out = (void *)library;
  return TN_OK;
}

int32_t tn_library_is_shadowed(const char *path) {
  (void)path;
  return 0;
}

/* Windows has no global symbols: libraries name the library of each symbol that they import. */
int32_t tn_library_open_globally(const char *path, size_t path_length, void **out) {
  return tn_library_open(path, path_length, out);
}

void *tn_library_loaded(const char *name) { return (void)name, NULL; }

int32_t tn_library_open_core(void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  static const char here;
  HMODULE library;
  if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, (LPCWSTR)&here, &library))
    return load_failed();
  *out = (void *)library;
  return TN_OK;
}

int32_t tn_library_process(void **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  *out = GetModuleHandleW(NULL);
  return TN_OK;
}

int32_t tn_library_symbol(void *library, const char *name, size_t name_length, void **out) {
  char symbol[4096];
  TN_REQUIRE(library != NULL && name != NULL && out != NULL && name_length < sizeof symbol,
             "library, name and out must not be null, and name must be shorter than 4096 bytes");
  memcpy(symbol, name, name_length);
  symbol[name_length] = 0;
  FARPROC address = GetProcAddress((HMODULE)library, symbol);
  if (address == NULL) return tn__fail(TN_NOT_FOUND, "the library does not export this symbol");
  memcpy(out, &address, sizeof address);
  return TN_OK;
}

/* A page with code can be executed. */
int32_t tn_address_is_data(const void *address) {
  const DWORD executable = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  MEMORY_BASIC_INFORMATION page;
  return VirtualQuery(address, &page, sizeof page) != 0 && (page.Protect & executable) == 0;
}

int32_t tn_library_versioned_symbol(void *library, const char *name, size_t name_length, const char *version,
                                    size_t version_length, void **out) {
  (void)library, (void)name, (void)name_length, (void)version, (void)version_length, (void)out;
  return tn__fail(TN_UNSUPPORTED, "symbols have versions only on Linux with glibc");
}

int32_t tn_library_function(void *library, const char *name, size_t name_length, void **out) {
  void *address = NULL;
  TN_TRY(tn_library_symbol(library, name, name_length, &address));
  if (tn_address_is_data(address)) return tn__fail(TN_INVALID_ARGUMENT, "the symbol is data, not a function");
  *out = address;
  return TN_OK;
}

int32_t tn_first_core(const char **path, const char **version) {
  (void)path;
  (void)version;
  return tn__fail(TN_UNSUPPORTED, "Windows has no global symbols, so copies of the core cannot find each other");
}
