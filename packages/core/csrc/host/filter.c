/* The filter of system calls. It is defence in depth: whoever does not trust a kernel at all needs a container. */
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Starting programs, reaching other processes, the network, and large parts of the kernel that kernels do not need. */
static const unsigned refused[] = {
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_kill, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_bpf, SYS_mount,
    SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot,
    SYS_setpgid, SYS_setsid, SYS_kexec_load, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_sethostname,
    SYS_setdomainname, SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_fanotify_init, SYS_open_by_handle_at, SYS_vhangup,
#if defined(SYS_iopl)
    SYS_iopl, SYS_ioperm,
#endif
#if defined(SYS_kexec_file_load)
    SYS_kexec_file_load,
#endif
#if defined(SYS_fork)
    SYS_fork, SYS_vfork,
#endif
    424 /* pidfd_send_signal */, 425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */,
    428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */, 431 /* fsconfig */, 432 /* fsmount */,
    433 /* fspick */, 434 /* pidfd_open */, 438 /* pidfd_getfd */, 440 /* process_madvise */, 442 /* mount_setattr */,
    448 /* process_mrelease */,
};
/* Only this process may be named by their first argument. 0 is this process. */
static const unsigned own_only[] = {SYS_tgkill, SYS_prlimit64, SYS_migrate_pages, SYS_move_pages};
/* The client may not be named by their first argument: they would have its first thread, which runs its JavaScript, wait for all others. They may
   name every other thread, because OpenMP sets those of its own process, and the filter cannot tell whose thread a number names. */
static const unsigned not_client[] = {
    SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity,
};
/* Calls that set priorities. Their first argument has to be this number, which means one thread, and their second may not name the client. */
static const struct {
  unsigned call, one_thread;
} priorities[] = {{SYS_setpriority, PRIO_PROCESS}, {SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */}};
/* Commands, which are second arguments, that have the system send signals to other processes, or type on a terminal. */
static const struct {
  unsigned call, command;
} refused_commands[] = {
    {SYS_fcntl, F_SETOWN},   {SYS_fcntl, F_SETOWN_EX}, {SYS_fcntl, F_SETSIG},   {SYS_ioctl, FIOSETOWN},
    {SYS_ioctl, SIOCSPGRP}, {SYS_ioctl, TIOCSTI},     {SYS_ioctl, TIOCLINUX},
};

#define CLONE3 435u
#define MOST 256

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))

bool tn__filter_system_calls(void) {
#if defined(ARCHITECTURE)
  struct sock_filter code[MOST];
  unsigned short length = 0;
#define EMIT(...)                                       \
  do {                                                  \
    const struct sock_filter step = __VA_ARGS__;        \
    code[length++] = step;                              \
  } while (0)
  EMIT(LOAD(arch));
  EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  EMIT(RETURN(SECCOMP_RET_KILL_PROCESS));
  EMIT(LOAD(nr));
#if defined(__x86_64__)
  /* The calls of the x32 ABI. */
  EMIT(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1));
  EMIT(RETURN(SECCOMP_RET_KILL_PROCESS));
#endif
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1));
    EMIT(REFUSE);
  }
  /* glibc then makes threads with clone(), whose flags can be read. */
  EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLONE3, 0, 1));
  EMIT(RETURN(SECCOMP_RET_ERRNO | ENOSYS));
  EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
  EMIT(LOAD(args[0]));
  EMIT(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  EMIT(REFUSE);
  EMIT(RETURN(SECCOMP_RET_ALLOW));
  const unsigned process = (unsigned)getpid();
  for (size_t i = 0; i < sizeof own_only / sizeof *own_only; i++) {
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_only[i], 0, 5));
    EMIT(LOAD(args[0]));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, process, 2, 0));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    EMIT(REFUSE);
    EMIT(RETURN(SECCOMP_RET_ALLOW));
  }
  const unsigned client = (unsigned)getppid();
  for (size_t i = 0; i < sizeof not_client / sizeof *not_client; i++) {
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, not_client[i], 0, 4));
    EMIT(LOAD(args[0]));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, client, 0, 1));
    EMIT(REFUSE);
    EMIT(RETURN(SECCOMP_RET_ALLOW));
  }
  for (size_t i = 0; i < sizeof priorities / sizeof *priorities; i++) {
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, priorities[i].call, 0, 7));
    EMIT(LOAD(args[0]));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, priorities[i].one_thread, 1, 0));
    EMIT(REFUSE);
    EMIT(LOAD(args[1]));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, client, 0, 1));
    EMIT(REFUSE);
    EMIT(RETURN(SECCOMP_RET_ALLOW));
  }
  for (size_t i = 0; i < sizeof refused_commands / sizeof *refused_commands; i++) {
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_commands[i].call, 0, 4));
    EMIT(LOAD(args[1]));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_commands[i].command, 0, 1));
    EMIT(REFUSE);
    EMIT(LOAD(nr));
  }
  EMIT(RETURN(SECCOMP_RET_ALLOW));
#undef EMIT
  const struct sock_fprog program = {.len = length, .filter = code};
  /* For all threads, because the watchdog runs already. */
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#else
  return false;
#endif
}
