/* Telling functions of libraries from their data. */
#include <dlfcn.h>
#include <stdint.h>
#if !defined(__APPLE__)
#include <link.h>
#endif

#include "base/status.h"

typedef enum { KIND_UNKNOWN, KIND_CODE, KIND_DATA } kind_t;

#if !defined(__APPLE__)
typedef struct {
  uintptr_t address;
  kind_t kind;
} search_t;

/* Looks for the segment of an address in one library. */
static int find_segment(struct dl_phdr_info *library, size_t size, void *context) {
  (void)size;
  search_t *search = context;
  for (size_t i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || search->address - (library->dlpi_addr + segment->p_vaddr) >= segment->p_memsz) continue;
    search->kind = (segment->p_flags & PF_X) != 0 ? KIND_CODE : KIND_DATA;
    return 1;
  }
  return 0;
}

/* Code and constants can be in one segment, so the type of the symbol counts too. Thread-local variables are in no library. */
static kind_t kind_of(const void *address) {
#if defined(__GLIBC__)
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  if (dladdr1(address, &info, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
      info.dli_saddr == address && (symbol->st_info & 0xf) == STT_OBJECT)
    return KIND_DATA;
#endif
  search_t search = {(uintptr_t)address, KIND_UNKNOWN};
  dl_iterate_phdr(find_segment, &search);
  return search.kind;
}
#endif

int32_t tn_library_function(void *library, const char *name, size_t name_length, void **out) {
  void *address = NULL;
  TN_TRY(tn_library_symbol(library, name, name_length, &address));
#if !defined(__APPLE__)
  if (kind_of(address) != KIND_CODE) return tn__fail(TN_INVALID_ARGUMENT, "the symbol is data, not a function");
#endif
  *out = address;
  return TN_OK;
}

int32_t tn_address_is_data(const void *address) {
#if defined(__APPLE__)
  (void)address;
  return 0;
#else
  return kind_of(address) == KIND_DATA;
#endif
}
