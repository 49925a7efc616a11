/* Becoming a worker. */
#include "tenon_host.h"

#if defined(__linux__)
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "server.h"

_Static_assert(sizeof(pthread_mutex_t) <= sizeof((tn_host_header_t *)0)->life, "the mutex fits");

/* Ends the process when its main thread does, because the client would wait for it. */
static void end_of_main_thread(void *data) {
  tn_host_header_t *header = data;
  header->crash_kind = 2;
  tn__host_move_output();
  syscall(SYS_exit_group, 0);
}

/* Takes the robust mutex, whose word the kernel changes when this thread ends. The C libraries have the word at
 * different places. */
static int32_t take_life(tn_host_header_t *header) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t *life = (pthread_mutex_t *)(void *)header->life;
  if (pthread_mutexattr_init(&attributes) != 0) return tn__fail(TN_SYSTEM, "cannot make the life mutex");
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int failure = pthread_mutex_init(life, &attributes) != 0 || pthread_mutex_lock(life) != 0;
  pthread_mutexattr_destroy(&attributes);
  if (failure) return tn__fail(TN_SYSTEM, "cannot take the life mutex");
  const uint32_t thread = (uint32_t)syscall(SYS_gettid);
  for (uint32_t at = 0; at + sizeof(uint32_t) <= sizeof(pthread_mutex_t); at += sizeof(uint32_t)) {
    _Atomic uint32_t *word = TN__WORD(header->life + at);
    if (*word != thread) continue;
    /* The kernel only wakes if it is told that somebody waits. */
    atomic_fetch_or(word, FUTEX_WAITERS);
    atomic_store(TN__WORD(&header->life_offset), (uint32_t)offsetof(tn_host_header_t, life) + at);
    return TN_OK;
  }
  return tn__fail(TN_UNSUPPORTED, "the robust mutex of this C library is not known");
}

/* When memory is short, the system ends workers first, and not their client. Without /proc it chooses by size. */
static void be_ended_first(void) {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t ignored = write(file, "1000", 4);
  (void)ignored;
  close(file);
}

int32_t tn_host_attach(uint8_t **command) {
  TN_REQUIRE(command != NULL, "command must not be null");
  TN_REQUIRE(tn__host_command == NULL, "this process is a worker already");
  struct stat info;
  if (fstat(TN_HOST_COMMAND, &info) != 0 || info.st_size != TN_HOST_COMMAND_SIZE)
    return tn__fail(TN_INVALID_ARGUMENT, "this process was not started as a worker");
  uint8_t *mapped = mmap(NULL, TN_HOST_COMMAND_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, TN_HOST_COMMAND, 0);
  if (mapped == MAP_FAILED) return tn__system(-1, "cannot map the command memory");
  tn_host_header_t *header = (tn_host_header_t *)(void *)mapped;
  if (header->magic != TN_HOST_MAGIC || header->version != TN_HOST_VERSION) {
    const unsigned version = header->version;
    munmap(mapped, TN_HOST_COMMAND_SIZE);
    return tn__fail(TN_VERSION_MISMATCH, "the client has version %u of the protocol, the worker %u", version,
                    (unsigned)TN_HOST_VERSION);
  }
  tn__host_command = mapped;
  be_ended_first();
  pthread_key_t key;
  if (pthread_key_create(&key, end_of_main_thread) != 0 || pthread_setspecific(key, header) != 0)
    return tn__fail(TN_SYSTEM, "cannot watch the main thread");
  TN_TRY(take_life(header));
  if ((header->flags & TN_HOST_UNWATCHED) == 0) TN_TRY(tn__host_watch());
  *command = mapped;
  return TN_OK;
}
#endif
