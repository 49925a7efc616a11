/* Closes the files of /proc/<number> that show or change the memory of another process of the same user, such as mem and environ. The
 * filter of system calls cannot read paths, but Landlock refuses whatever ptrace() would need, for processes outside of the domain. */
#include <fcntl.h>
#include <linux/capability.h>
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

#define PERFMON 38

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

/* Since Linux 6.14, these capabilities of root open what only reads the memory of a process, without a question to Landlock. */
static bool drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  const unsigned dropped[] = {PERFMON, CAP_SYS_ADMIN};
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
    const __u32 kept = ~((__u32)1 << dropped[i] % 32);
    sets[dropped[i] / 32].effective &= kept;
    sets[dropped[i] / 32].permitted &= kept;
  }
  return syscall(SYS_capset, &header, sets) == 0;
}

bool tn__close_other_processes(void) {
  /* Version 1 always refuses to move files between directories. */
  if (syscall(CREATE_RULESET, NULL, 0, GET_VERSION) < 2) return false;
  const __u64 handled = REFER;
  const int ruleset = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0);
  if (ruleset < 0) return false;
  const bool is_closed = allow_everywhere(ruleset) && syscall(RESTRICT_SELF, ruleset, 0) == 0 && drop_capabilities();
  close(ruleset);
  return is_closed;
}
