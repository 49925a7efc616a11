/* Waking the event loop of a JavaScript thread, on Windows: not supported, because Node cannot read a C pipe there. */
#include "../wake.h"

int tn__wake_open(int ends[2]) {
  (void)ends;
  return 0;
}

void tn__wake(int to) { (void)to; }
void tn__wake_close(int to) { (void)to; }
