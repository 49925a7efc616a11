/* Actions for the end of a thread, on Windows: only fiber-local storage has a callback. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "../thread_end.h"

int tn__at_thread_end(tn__thread_end_t *end, void *value) {
  tn__lock(&end->lock);
  if (!end->is_made) {
    const DWORD key = FlsAlloc((PFLS_CALLBACK_FUNCTION)end->leave);
    end->is_made = key != FLS_OUT_OF_INDEXES;
    end->key = key;
  }
  const int is_made = end->is_made;
  tn__unlock(&end->lock);
  return is_made && FlsSetValue((DWORD)end->key, value);
}
