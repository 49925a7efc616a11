#include "shadowed.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#if defined(__GLIBC__) && defined(RTLD_DEEPBIND)
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  const unsigned char *bytes;
  size_t size;
} file_t;

/* A part of the file, or null if it is not all there. */
static const void *part_of(const file_t *file, uint64_t offset, uint64_t size, size_t alignment) {
  if (offset > file->size || size > file->size - offset || offset % alignment != 0) return NULL;
  return file->bytes + offset;
}

/* With another allocator than that of the C library, memory that a library gets from the C library would be freed by the wrong one.
 * The sanitizers, which have allocators of their own, refuse the flag. */
static bool has_other_allocator(void) {
  const char *preloaded = getenv("LD_PRELOAD");
  if (preloaded != NULL && preloaded[0] != '\0') return true;
  Dl_info allocator, c_library;
  const ElfW(Sym) *symbol = NULL;
  void *allocate = dlsym(RTLD_DEFAULT, "malloc"), *version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  if (allocate == NULL || version == NULL || dladdr(version, &c_library) == 0 ||
      dladdr1(allocate, &allocator, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT) == 0)
    return true;
  /* A program that is not position-independent has an entry for a function of the C library whose address it takes. */
  return allocator.dli_fbase != c_library.dli_fbase && !(symbol != NULL && symbol->st_shndx == SHN_UNDEF);
}

/* The addresses of the program, which is the first object that the loader lists. */
typedef struct {
  uintptr_t begin, end;
} range_t;

static int find_program(struct dl_phdr_info *program, size_t size, void *context) {
  (void)size;
  range_t *range = context;
  for (size_t i = 0; i < program->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
    const uintptr_t begin = program->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD) continue;
    if (range->end == 0 || begin < range->begin) range->begin = begin;
    if (begin + segment->p_memsz > range->end) range->end = begin + segment->p_memsz;
  }
  return 1;
}

/* Whether the program defines the function at an address, and does not only have an entry for that of another library. */
static bool is_of_program(const void *address, range_t program) {
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  if ((uintptr_t)address < program.begin || (uintptr_t)address >= program.end) return false;
  return dladdr1(address, &info, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
         symbol->st_shndx != SHN_UNDEF;
}

/* Functions of C++ that several files have are one function by its rules, so only other names count. */
static bool is_function(const ElfW(Sym) *symbol, const char *name) {
  return (symbol->st_info & 0xf) == STT_FUNC && symbol->st_info >> 4 == STB_GLOBAL && (symbol->st_other & 3) == STV_DEFAULT &&
         strncmp(name, "_Z", 2) != 0;
}

/* Whether the file is one that tenon bind --shim has compiled, whose functions call those of the libraries that it names. */
static bool is_shim(const ElfW(Sym) *table, size_t count, const char *texts, size_t size) {
  for (size_t i = 0; i < count; i++)
    if (table[i].st_name < size && strcmp(texts + table[i].st_name, "tenon_shim_hash") == 0) return true;
  return false;
}

static bool has_symbol_of_program(const file_t *file, const ElfW(Shdr) *symbols, const ElfW(Shdr) *names) {
  const ElfW(Sym) *table = part_of(file, symbols->sh_offset, symbols->sh_size, _Alignof(ElfW(Sym)));
  const char *texts = part_of(file, names->sh_offset, names->sh_size, 1);
  if (table == NULL || texts == NULL || names->sh_size == 0 || texts[names->sh_size - 1] != '\0') return false;
  const size_t count = symbols->sh_size / sizeof *table;
  const bool calls_others = is_shim(table, count, texts, names->sh_size);
  range_t program = {0};
  dl_iterate_phdr(find_program, &program);
  for (size_t i = 0; i < count; i++) {
    if (table[i].st_name >= names->sh_size || !is_function(&table[i], texts + table[i].st_name)) continue;
    if (table[i].st_shndx == SHN_UNDEF && !calls_others) continue;
    const void *address = dlsym(RTLD_DEFAULT, texts + table[i].st_name);
    if (address != NULL && is_of_program(address, program)) return true;
  }
  return false;
}

static bool is_shadowed(const file_t *file) {
  const ElfW(Ehdr) *header = part_of(file, 0, sizeof *header, 1);
  if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(ElfW(Shdr)))
    return false;
  const ElfW(Shdr) *sections = part_of(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections, _Alignof(ElfW(Shdr)));
  if (sections == NULL) return false;
  for (unsigned i = 0; i < header->e_shnum; i++)
    if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header->e_shnum)
      return has_symbol_of_program(file, &sections[i], &sections[sections[i].sh_link]);
  return false;
}

int tn__own_symbols_flag(const char *path) {
  if (has_other_allocator()) return 0;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return 0;
  struct stat status;
  file_t file = {0};
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    file.size = (size_t)status.st_size;
    void *bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    file.bytes = bytes == MAP_FAILED ? NULL : bytes;
  }
  close(descriptor);
  if (file.bytes == NULL) return 0;
  const bool shadowed = is_shadowed(&file);
  munmap((void *)(uintptr_t)file.bytes, file.size);
  return shadowed ? RTLD_DEEPBIND : 0;
}
#else
int tn__own_symbols_flag(const char *path) {
  (void)path;
  return 0;
}
#endif

int32_t tn_library_is_shadowed(const char *path) {
  return path != NULL && tn__own_symbols_flag(path) != 0;
}
