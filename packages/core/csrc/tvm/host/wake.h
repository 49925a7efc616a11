/* Waking the event loop of a JavaScript thread from any other thread. */
#pragma once

/* posix/wake.c, win32/wake.c: opens a pipe whose first end JavaScript reads and closes. 0 if not supported. */
int tn__wake_open(int ends[2]);

/* Makes the first end readable, given the second end. */
void tn__wake(int to);

/* Closes the second end. */
void tn__wake_close(int to);
