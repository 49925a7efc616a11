#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../code_pages.h"

#include <string.h>

#if !defined(__x86_64__)
#error "there is no code for stubs on this processor"
#endif

/* Writes the code of one stub, which loads the address of its slot and jumps to `common` of the slot. */
static void write_stub(uint8_t *code, const tn__stub_t *slot) {
  const int32_t distance = (int32_t)((const uint8_t *)slot - (code + 11));
  uint8_t text[TN__STUB_CODE_SIZE] = {
      0xf3, 0x0f, 0x1e, 0xfa,       /* endbr64 */
      0x4c, 0x8d, 0x1d, 0, 0, 0, 0, /* lea distance(%rip), %r11 */
      0x41, 0xff, 0x63, 8,          /* jmp *8(%r11) */
      0x90,
  };
  memcpy(text + 7, &distance, sizeof distance);
  memcpy(code, text, sizeof text);
}

int tn__code_pages_open(size_t count, void (*common)(void), const void **code, tn__stub_t **slots) {
  /* The slots follow the code in one allocation, so that the distance between them is small. */
  const size_t code_size = count * TN__STUB_CODE_SIZE, size = code_size + count * sizeof(tn__stub_t);
  uint8_t *memory = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == NULL) return 0;
  tn__stub_t *made = (tn__stub_t *)(memory + code_size);
  for (size_t i = 0; i < count; i++) {
    memcpy(&made[i].common, &common, sizeof common);
    write_stub(memory + i * TN__STUB_CODE_SIZE, &made[i]);
  }
  DWORD before;
  if (!VirtualProtect(memory, code_size, PAGE_EXECUTE_READ, &before)) {
    VirtualFree(memory, 0, MEM_RELEASE);
    return 0;
  }
  FlushInstructionCache(GetCurrentProcess(), memory, code_size);
  *code = memory;
  *slots = made;
  return 1;
}
