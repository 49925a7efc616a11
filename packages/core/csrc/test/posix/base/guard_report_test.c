/* The handler of SIGSEGV that reports guarded segments, while other threads add and remove segments. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "tenon.h"

#define CHURNED 4000

static char churned[CHURNED];

static void *add_and_remove(void *data) {
  (void)data;
  for (;;) {
    for (int i = 0; i < CHURNED; i++) tn_guard_report_add(&churned[i], 0, 0, 1, "churned", 7);
    for (int i = CHURNED; i > 0; i--) tn_guard_report_remove(&churned[i - 1]);
  }
  return NULL;
}

/* Crashes behind a guarded segment while threads change the table. */
static void crash(int output) {
  size_t page = tn_page_size();
  char *block = NULL;
  pthread_t thread;
  dup2(output, STDERR_FILENO);
  alarm(10);
  if (tn_pages_open(page, (void **)&block) != TN_OK) _exit(1);
  tn_guard_report_add(block, page, page - 16, 16, "the block", 9);
  for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, add_and_remove, NULL);
  usleep(2000);
  *(volatile char *)(block + page) = 1;
  _exit(0);
}

TEST(a_crash_is_reported_while_other_threads_add_and_remove_segments) {
  for (int round = 0; round < 30; round++) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) crash(ends[1]);
    close(ends[1]);
    char text[1024] = "";
    size_t length = 0;
    ssize_t count;
    while ((count = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)count;
    close(ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status != 0);
    CHECK(strstr(text, "0 bytes behind the end of a segment of 16 bytes of the block\n") != NULL);
  }
}
