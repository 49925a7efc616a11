/* A worker that tests start as its client. tenon-host is beside the core. */
#ifndef TENON_TEST_HOST_WORKER_H
#define TENON_TEST_HOST_WORKER_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tenon_host.h"

#define SECOND 1000000000

static inline const char *program(void) {
  static char path[4096];
  Dl_info info;
  if (dladdr((void *)(uintptr_t)tn_abi_version, &info) == 0) return "";
  const char *slash = strrchr(info.dli_fname, '/');
  snprintf(path, sizeof path, "%.*s/tenon-host", (int)(slash - info.dli_fname), info.dli_fname);
  return path;
}

static inline int32_t start_program(const char *path, uint32_t flags, tn_host_t **out) {
  const char *arguments[] = {path, NULL};
  const char *environment[] = {"PATH=/usr/bin:/bin", NULL};
  const tn_host_start_t start = {.struct_size = sizeof start,
                                 .program = path,
                                 .arguments = arguments,
                                 .environment = environment,
                                 .grace = SECOND / 10,
                                 .flags = flags};
  return tn_host_start(&start, out);
}

/* Starts a worker and waits until it is ready. Null after a failure. */
static inline tn_host_t *start(void) {
  tn_host_t *host;
  if (start_program(program(), TN_HOST_SANDBOX | TN_HOST_CAPTURE, &host) != TN_OK) return NULL;
  if (tn_host_wait(host, 0, 10 * (int64_t)SECOND) == TN_OK) return host;
  tn_host_close(host);
  return NULL;
}

static inline tn_host_info_t info_of(tn_host_t *host) {
  tn_host_info_t info;
  tn_host_describe(host, &info);
  return info;
}

static inline tn_host_header_t *header_of(tn_host_t *host) { return (tn_host_header_t *)(void *)info_of(host).command; }

static inline tn_host_slot_t *slot_of(tn_host_t *host, uint32_t index) {
  return (tn_host_slot_t *)(void *)(info_of(host).command + TN_HOST_SLOTS_OFFSET + index * TN_HOST_SLOT_SIZE);
}

/* Fills a slot with a request that the worker answers at once. */
static inline void ask(tn_host_t *host, uint32_t index) {
  tn_host_slot_t *slot = slot_of(host, index);
  *slot = (tn_host_slot_t){.operation = TN_HOST_HELLO, .id = index + 1, .deadline = UINT64_MAX, .status = -1};
  atomic_store((_Atomic uint32_t *)&slot->state, TN_HOST_POSTED);
}

#endif
