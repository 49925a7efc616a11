/* Files of the libraries that other libraries need, which may be replaced while the loader has the earlier ones. */
#include "library_dependencies.h"

#include "base/status.h"

#if defined(__APPLE__)

void tn__dependencies_remember(void) {}

int32_t tn__dependencies_check(void *library) {
  (void)library;
  return TN_OK;
}

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"

/* The most new libraries whose dependencies are checked after one was opened. */
#define MOST_NEW 128

/* A library that the loader had. Entries are never removed. */
typedef struct seen {
  struct seen *next;
  uintptr_t base;
  dev_t device;
  ino_t inode;
  char path[]; /* as the loader has it, NUL-terminated */
} seen_t;

static tn__lock_t lock = TN__LOCK;
static seen_t *all;

/* Libraries of the system are upgraded while programs run, and the new ones do what the old ones did. */
static bool is_followed(const char *path) {
  return strchr(path, '/') != NULL && strncmp(path, "/lib", 4) != 0 && strncmp(path, "/usr/lib", 8) != 0;
}

static const seen_t *find(uintptr_t base, const char *path) {
  tn__lock(&lock);
  const seen_t *entry = all;
  while (entry != NULL && (entry->base != base || strcmp(entry->path, path) != 0)) entry = entry->next;
  tn__unlock(&lock);
  return entry;
}

/* Called under the lock of the loader, which must not be taken under the lock of this file. */
static int remember(struct dl_phdr_info *library, size_t size, void *context) {
  (void)size;
  (void)context;
  struct stat file;
  const char *path = library->dlpi_name;
  if (path == NULL || !is_followed(path) || find(library->dlpi_addr, path) != NULL || stat(path, &file) != 0) return 0;
  seen_t *entry = malloc(sizeof *entry + strlen(path) + 1);
  if (entry == NULL) return 0;
  *entry = (seen_t){.base = library->dlpi_addr, .device = file.st_dev, .inode = file.st_ino};
  memcpy(entry->path, path, strlen(path) + 1);
  tn__lock(&lock);
  entry->next = all;
  all = entry;
  tn__unlock(&lock);
  return 0;
}

void tn__dependencies_remember(void) { dl_iterate_phdr(remember, NULL); }

/* Whether a part of a file is what the memory has. */
static bool has_bytes(int file, off_t offset, const unsigned char *memory, size_t size) {
  unsigned char part[16384];
  if (lseek(file, offset, SEEK_SET) != offset) return false;
  while (size > 0) {
    const ssize_t length = read(file, part, size < sizeof part ? size : sizeof part);
    if (length <= 0 || memcmp(part, memory, (size_t)length) != 0) return false;
    memory += length;
    size -= (size_t)length;
  }
  return true;
}

typedef struct {
  const struct link_map *library;
  bool is_same;
} comparison_t;

/* Compares the code and the constants of a library with those of the file at its path. */
static int compare(struct dl_phdr_info *library, size_t size, void *context) {
  (void)size;
  comparison_t *comparison = context;
  if (library->dlpi_addr != comparison->library->l_addr || library->dlpi_name != comparison->library->l_name) return 0;
  const int file = open(library->dlpi_name, O_RDONLY | O_CLOEXEC);
  comparison->is_same = file >= 0;
  for (size_t i = 0; i < library->dlpi_phnum && comparison->is_same; i++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_R | PF_W)) != PF_R) continue;
    comparison->is_same = has_bytes(file, (off_t)segment->p_offset,
                                    (const unsigned char *)library->dlpi_addr + segment->p_vaddr, segment->p_filesz);
  }
  if (file >= 0) close(file);
  return 1;
}

/* Whether another build is at the path of a library that the loader had. A package that is installed again has the same one. */
static bool is_replaced(const struct link_map *library, const seen_t *seen) {
  struct stat file;
  if (stat(seen->path, &file) != 0 || (file.st_dev == seen->device && file.st_ino == seen->inode)) return false;
  comparison_t comparison = {library, false};
  dl_iterate_phdr(compare, &comparison);
  return !comparison.is_same;
}

static const struct link_map *map_of(void *library) {
  struct link_map *map = NULL;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

/* Some loaders write the address into the section, and others leave the offset. */
static const char *names_of(const struct link_map *library) {
  for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag != DT_STRTAB) continue;
    const uintptr_t table = (uintptr_t)entry->d_un.d_ptr;
    return (const char *)(table < library->l_addr ? library->l_addr + table : table);
  }
  return NULL;
}

static const char *name_in(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* Returns the library that the loader has for a name, or null. It may have the name from its headers only, and be at a path where
 * nobody would look for the name. */
static const struct link_map *find_needed(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  const struct link_map *map = library == NULL ? NULL : map_of(library);
  return map != NULL && is_followed(map->l_name) && strcmp(name_in(map->l_name), name_in(name)) == 0 ? map : NULL;
}

int32_t tn__dependencies_check(void *library) {
  const struct link_map *new[MOST_NEW] = {map_of(library)};
  for (size_t checked = 0, count = new[0] != NULL; checked < count; checked++) {
    const char *names = names_of(new[checked]);
    for (const ElfW(Dyn) *entry = new[checked]->l_ld; names != NULL && entry->d_tag != DT_NULL; entry++) {
      const struct link_map *needed = entry->d_tag == DT_NEEDED ? find_needed(names + entry->d_un.d_val) : NULL;
      if (needed == NULL) continue;
      const seen_t *seen = find(needed->l_addr, needed->l_name);
      if (seen != NULL && is_replaced(needed, seen))
        return tn__fail(TN_LOAD_FAILED, "the file %s, which it needs, was replaced after it was loaded", seen->path);
      size_t at = seen != NULL ? count : 0;
      while (at < count && new[at] != needed) at++;
      if (at == count && seen == NULL && count < MOST_NEW) new[count++] = needed;
    }
  }
  return TN_OK;
}

#endif
