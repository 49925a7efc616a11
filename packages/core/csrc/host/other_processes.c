/* Closes /proc/<number>/mem and the other files by which a process reaches into another one of the same user. The filter of
 * system calls cannot read paths, but Landlock refuses whatever ptrace() would need, for processes outside of the domain. */
#include <fcntl.h>
#include <linux/types.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"

/* As in linux/landlock.h, which older systems lack. */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define GET_VERSION 1u
#define PATH_BENEATH 1
#define REFER ((__u64)1 << 13)

/* A domain must restrict something. It is allowed again for all files. */
static bool allow_everywhere(int ruleset) {
  const int root = open("/", O_PATH | O_CLOEXEC);
  if (root < 0) return false;
  const struct {
    __u64 allowed_access;
    __s32 parent;
  } __attribute__((packed)) rule = {REFER, root};
  const bool is_added = syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0) == 0;
  close(root);
  return is_added;
}

bool tn__close_other_processes(void) {
  /* Version 1 always refuses to move files between directories. */
  if (syscall(CREATE_RULESET, NULL, 0, GET_VERSION) < 2) return false;
  const __u64 handled = REFER;
  const int ruleset = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0);
  if (ruleset < 0) return false;
  const bool is_closed = allow_everywhere(ruleset) && syscall(RESTRICT_SELF, ruleset, 0) == 0;
  close(ruleset);
  return is_closed;
}
