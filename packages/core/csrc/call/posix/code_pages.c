#include "../code_pages.h"

#include <string.h>
#include <sys/mman.h>
#if defined(__APPLE__)
#include <libkern/OSCacheControl.h>
#endif

/* Writes the code of one stub, which loads the address of its slot and jumps to `common` of the slot. */
static void write_stub(uint8_t *code, const tn__stub_t *slot) {
#if defined(__x86_64__)
  const int32_t distance = (int32_t)((const uint8_t *)slot - (code + 11)); /* relative to jmp */
  uint8_t text[TN__STUB_CODE_SIZE] = {
      0xf3, 0x0f, 0x1e, 0xfa,       /* endbr64 */
      0x4c, 0x8d, 0x1d, 0, 0, 0, 0, /* lea distance(%rip), %r11 */
      0x41, 0xff, 0x63, 8,          /* jmp *8(%r11) */
      0x90,
  };
  memcpy(text + 7, &distance, sizeof distance);
#elif defined(__aarch64__)
  const uint32_t instructions[TN__STUB_CODE_SIZE / 4] = {
      0xd503245f, /* bti c */
      0x580000b1, /* ldr x17, 20 bytes from here: the address of the slot */
      0xf9400630, /* ldr x16, [x17, #8] */
      0xd61f0200, /* br x16 */
      0xd503201f, /* nop */
  };
  uint8_t text[TN__STUB_CODE_SIZE];
  memcpy(text, instructions, sizeof text);
  memcpy(text + 24, &slot, sizeof slot);
#else
#error "there is no code for stubs on this processor"
#endif
  memcpy(code, text, sizeof text);
}

/* Makes new code visible to all processors. On Linux for arm64 it does not call __clear_cache(),
 * because that of zig is in an object with a memcpy() that would replace that of the C library. */
static void publish_code(uint8_t *start, uint8_t *end) {
#if defined(__aarch64__) && defined(__linux__)
  /* The sizes of the lines of both caches, as powers of two, in words of 4 bytes. */
  uint64_t cache_type;
  __asm__("mrs %0, ctr_el0" : "=r"(cache_type));
  const size_t data_line = (size_t)4 << (cache_type >> 16 & 15), code_line = (size_t)4 << (cache_type & 15);
  for (uint8_t *at = start; at < end; at += data_line) __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish" : : : "memory");
  for (uint8_t *at = start; at < end; at += code_line) __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish\n\tisb" : : : "memory");
#elif defined(__APPLE__)
  sys_icache_invalidate(start, (size_t)(end - start));
#else
  __builtin___clear_cache((char *)start, (char *)end);
#endif
}

int tn__code_pages_open(size_t count, void (*common)(void), const void **code, tn__stub_t **slots) {
  /* The slots follow the code in one mapping, so that the distance between them is small. */
  const size_t code_size = count * TN__STUB_CODE_SIZE, size = code_size + count * sizeof(tn__stub_t);
  uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  tn__stub_t *made = (tn__stub_t *)(memory + code_size);
  for (size_t i = 0; i < count; i++) {
    memcpy(&made[i].common, &common, sizeof common);
    write_stub(memory + i * TN__STUB_CODE_SIZE, &made[i]);
  }
  if (mprotect(memory, code_size, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, size);
    return 0;
  }
  publish_code(memory, memory + code_size);
  *code = memory;
  *slots = made;
  return 1;
}
