/* Functions that may end the thread they run on. */
#pragma once

/* Calls `run(data)`. If that ends the thread with pthread_exit(), `ended(data)` is called, and the thread ends. Windows has
 * no such end, which runs nothing. */
void tn__run_to_end(void (*run)(void *data), void (*ended)(void *data), void *data);
