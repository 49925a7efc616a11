/* File descriptors with which any thread wakes an event loop. Windows does not support them. */
#pragma once

#include <stdint.h>

typedef struct tn__event {
  int from; /* readable after a signal, until it is cleared */
  int to;
} tn__event_t;

int32_t tn__event_open(tn__event_t *event);
void tn__event_signal(tn__event_t *event);
void tn__event_clear(tn__event_t *event);
void tn__event_close(tn__event_t *event);
