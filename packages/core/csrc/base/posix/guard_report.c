/* Reports which guarded segment a crashing access touched, before the process ends. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../internal.h"

#define NAME_CAPACITY 96

typedef struct guarded {
  struct guarded *next;
  char *address;    /* of the first page */
  size_t byte_size; /* with the protected page */
  char *start;      /* of the segment */
  size_t length;    /* of the segment */
  char name[NAME_CAPACITY];
} guarded_t;

/* Changed under the lock. The handler reads the list without it, because the process is about to end. */
static guarded_t *guarded;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;
static int is_installed;

static void put(const char *text) {
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
}

static void put_number(size_t value) {
  char digits[24];
  char *at = digits + sizeof digits - 1;
  *at = 0;
  do {
    *--at = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  put(at);
}

static void report(const guarded_t *block, const char *fault) {
  put("tenon: native code touched memory ");
  if (fault >= block->start + block->length) {
    put_number((size_t)(fault - block->start) - block->length);
    put(" bytes behind the end of ");
  } else if (fault < block->start) {
    put_number((size_t)(block->start - fault));
    put(" bytes before the start of ");
  } else {
    put("after it was freed: ");
  }
  put("a segment of ");
  put_number(block->length);
  put(" bytes of ");
  put(block->name);
  put("\n");
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  const char *fault = info->si_addr;
  for (const guarded_t *block = guarded; block != NULL; block = block->next)
    if (fault >= block->address && fault < block->address + block->byte_size) {
      report(block, fault);
      break;
    }
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != NULL) {
    previous.sa_sigaction(signal_number, info, context);
    return;
  }
  /* The access is repeated with the former action, so the system ends the process. */
  sigaction(signal_number, &previous, NULL);
}

int32_t tn_guard_report_add(void *address, size_t byte_size, size_t start, size_t length, const char *name,
                            size_t name_length) {
  TN_REQUIRE(address != NULL && (name != NULL || name_length == 0), "address and name must not be null");
  guarded_t *block = malloc(sizeof *block);
  if (block == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot copy the name of a segment");
  *block = (guarded_t){.address = address, .byte_size = byte_size + tn_page_size(), .length = length};
  block->start = block->address + start;
  memcpy(block->name, name, name_length < NAME_CAPACITY ? name_length : NAME_CAPACITY - 1);
  pthread_mutex_lock(&mutex);
  if (!is_installed) {
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, &previous);
    is_installed = 1;
  }
  block->next = guarded;
  guarded = block;
  pthread_mutex_unlock(&mutex);
  return TN_OK;
}

void tn_guard_report_remove(void *address) {
  pthread_mutex_lock(&mutex);
  for (guarded_t **link = &guarded; *link != NULL; link = &(*link)->next)
    if ((*link)->address == address) {
      guarded_t *block = *link;
      *link = block->next;
      free(block);
      break;
    }
  pthread_mutex_unlock(&mutex);
}
