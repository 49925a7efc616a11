/* The kind of a library's symbol, on POSIX. */
#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif

#include "../module.h"

bool tn__is_function(const void *address) {
#if defined(__linux__)
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  if (dladdr1(address, &info, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL) return true;
  return (symbol->st_info & 0xf) != STT_OBJECT;
#else
  (void)address;
  return true;
#endif
}
