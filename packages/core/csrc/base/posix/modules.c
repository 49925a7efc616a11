/* The files whose code is in this process. */
#include "base/modules.h"

#include "base/lock.h"
#include "base/status.h"

#if defined(__linux__)

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(tn_module_t) % 8 == 0, "paths follow modules");

typedef struct {
  uint8_t *out;
  uint64_t capacity, length;
} list_t;

/* The contents of the note that the linker has written as the build ID; null for none. */
static const uint8_t *find_build_id(const uint8_t *notes, size_t size, uint32_t *length) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    const size_t name = sizeof note, value = name + (((size_t)note.n_namesz + 3) & ~(size_t)3),
                 end = value + (((size_t)note.n_descsz + 3) & ~(size_t)3);
    if (end > size) return NULL;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
      *length = note.n_descsz;
      return notes + value;
    }
    notes += end;
    size -= end;
  }
  return NULL;
}

/* Whether a range of the memory of a module is mapped from its file. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) *part) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && part->p_vaddr >= segment->p_vaddr &&
        part->p_vaddr - segment->p_vaddr <= segment->p_filesz &&
        part->p_filesz <= segment->p_filesz - (part->p_vaddr - segment->p_vaddr))
      return true;
  }
  return false;
}

static void describe(const struct dl_phdr_info *info, tn_module_t *module) {
  module->bias = info->dlpi_addr;
  module->start = UINT64_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
      if (start < module->start) module->start = start;
      if (start + part->p_memsz > module->end) module->end = start + part->p_memsz;
    }
    if (part->p_type != PT_NOTE || module->build_id_size != 0 || !is_loaded(info, part)) continue;
    uint32_t length = 0;
    const uint8_t *id = find_build_id((const uint8_t *)start, part->p_filesz, &length);
    if (id == NULL || length > TN_MODULE_BUILD_ID) continue;
    memcpy(module->build_id, id, length);
    module->build_id_size = length;
  }
}

static void append(list_t *list, tn_module_t *module, const char *path) {
  const size_t length = strlen(path);
  const uint64_t whole = (sizeof *module + length + 7) & ~(uint64_t)7;
  if (whole + sizeof *module > list->capacity - list->length) return;
  module->size = (uint32_t)whole;
  module->path_length = (uint32_t)length;
  memset(list->out + list->length, 0, whole);
  memcpy(list->out + list->length, module, sizeof *module);
  memcpy(list->out + list->length + sizeof *module, path, length);
  list->length += whole;
}

static int add(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  list_t *list = context;
  tn_module_t module = {0};
  describe(info, &module);
  if (module.start >= module.end) return 0;
  const char *name = info->dlpi_name;
  /* The program has no name here. */
  if (name == NULL || name[0] == '\0') name = (const char *)getauxval(AT_EXECFN); /* NOLINT(performance-no-int-to-ptr) */
  /* The code that the kernel maps into each process has no file. */
  struct stat file;
  if (name == NULL || stat(name, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  module.byte_size = (uint64_t)file.st_size;
  module.inode = file.st_ino;
  module.changed = (int64_t)file.st_mtim.tv_sec * 1000 + file.st_mtim.tv_nsec / 1000000;
  char *path = name[0] == '/' ? NULL : realpath(name, NULL);
  append(list, &module, path == NULL ? name : path);
  free(path);
  return 0;
}

uint64_t tn_modules_write(uint8_t *out, uint64_t capacity) {
  list_t list = {out, capacity, 0};
  if (capacity < sizeof(tn_module_t)) return 0;
  dl_iterate_phdr(add, &list);
  memset(out + list.length, 0, sizeof(tn_module_t));
  return list.length;
}

/* Only the pages that a list needs take memory. */
#define KEPT_SIZE ((size_t)1 << 20)

/* A list that is read stays until the second next one. */
static uint8_t *lists[2];
static _Atomic(const uint8_t *) kept;
static tn__lock_t lock = TN__LOCK;

const uint8_t *tn__modules_kept(void) { return atomic_load_explicit(&kept, memory_order_acquire); }

static void list_again(void) {
  uint8_t *next = tn__modules_kept() == lists[0] ? lists[1] : lists[0];
  tn_modules_write(next, KEPT_SIZE);
  atomic_store_explicit(&kept, next, memory_order_release);
}

int32_t tn__modules_keep(void) {
  tn__lock(&lock);
  if (lists[0] == NULL) {
    void *memory = mmap(NULL, 2 * KEPT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) {
      lists[0] = memory;
      lists[1] = (uint8_t *)memory + KEPT_SIZE;
    }
  }
  if (lists[0] != NULL) list_again();
  tn__unlock(&lock);
  return tn__modules_kept() != NULL ? TN_OK : tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot keep a list of libraries");
}

void tn__modules_after_load(void) {
  if (tn__modules_kept() == NULL) return;
  tn_crash_prepare();
  tn__lock(&lock);
  list_again();
  tn__unlock(&lock);
}

#else

int32_t tn__modules_keep(void) { return tn__fail(TN_UNSUPPORTED, "libraries are listed on Linux only"); }
const uint8_t *tn__modules_kept(void) { return NULL; }
void tn__modules_after_load(void) {}

uint64_t tn_modules_write(uint8_t *out, uint64_t capacity) {
  (void)out, (void)capacity;
  return 0;
}

#endif
