/* Starting workers. */
#include "tenon_host.h"

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "client.h"

/* The descriptors of the worker stay clear of the numbers at which it gets them. */
#define FIRST_FREE (TN_HOST_STDERR + 1)

/* The descriptors that a start opens. Those of the worker are closed here in any case. */
typedef struct {
  int command, null;
  int control[2], doorbell[2]; /* of the client, of the worker */
  int output[2][2];            /* by stream: reading, writing; without capture only writing */
} descriptors_t;

#define NO_DESCRIPTORS {-1, -1, {-1, -1}, {-1, -1}, {{-1, -1}, {-1, -1}}}

static void close_one(int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

static void close_all(descriptors_t *opened) {
  close_one(&opened->command);
  close_one(&opened->null);
  for (int i = 0; i < 2; i++) {
    close_one(&opened->control[i]);
    close_one(&opened->doorbell[i]);
    for (int end = 0; end < 2; end++) close_one(&opened->output[i][end]);
  }
}

static int32_t failed(const char *what) { return tn__system(-1, what); }

/* Moves a descriptor to a number that is not one of the worker's. */
static int32_t move_up(int *descriptor) {
  const int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, FIRST_FREE);
  if (moved < 0) return failed("cannot duplicate a descriptor of a worker");
  close(*descriptor);
  *descriptor = moved;
  return TN_OK;
}

static int32_t open_all(const tn_host_start_t *start, descriptors_t *opened) {
  opened->command = memfd_create("tenon-command", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (opened->command < 0 || ftruncate(opened->command, TN_HOST_COMMAND_SIZE) != 0 ||
      fcntl(opened->command, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("cannot make the command memory of a worker");
  if ((opened->null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0) return failed("cannot open /dev/null");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, opened->control) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, opened->doorbell) != 0)
    return failed("cannot open the sockets of a worker");
  for (int i = 0; i < 2; i++)
    if ((start->flags & TN_HOST_CAPTURE) != 0) {
      /* Only the reading ends do not block, because kernels expect that writing works. */
      if (pipe2(opened->output[i], O_CLOEXEC) != 0 || fcntl(opened->output[i][0], F_SETFL, O_NONBLOCK) != 0)
        return failed("cannot open the pipes of a worker");
      TN_TRY(move_up(&opened->output[i][0]));
      TN_TRY(move_up(&opened->output[i][1]));
    } else if (start->ignores_output == 0) {
      /* A duplicate, because Node.js makes its own streams close-on-exec. A stream that is closed here is ignored. */
      opened->output[i][1] = fcntl(i + 1, F_DUPFD_CLOEXEC, FIRST_FREE);
      if (opened->output[i][1] < 0 && errno != EBADF) return failed("cannot duplicate a descriptor of a worker");
    }
  TN_TRY(move_up(&opened->command));
  TN_TRY(move_up(&opened->null));
  TN_TRY(move_up(&opened->control[1]));
  return move_up(&opened->doorbell[1]);
}

/* Maps the command memory, and writes what it begins with. */
static int32_t map_command(tn_host_t *host, int command, uint32_t flags) {
  host->command = mmap(NULL, TN_HOST_COMMAND_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, command, 0);
  if (host->command == MAP_FAILED) return failed("cannot map the command memory of a worker");
  tn_host_header_t *header = tn__host_header(host);
  header->version = TN_HOST_VERSION;
  header->header_size = sizeof *header;
  header->slots = TN_HOST_SLOTS;
  header->slot_size = TN_HOST_SLOT_SIZE;
  header->flags = flags;
  header->deadline = UINT64_MAX;
  atomic_store(TN__WORD(&header->magic), TN_HOST_MAGIC);
  return TN_OK;
}

/* Fills the command memory with the settings and the first request. */
static void prepare(const tn_host_start_t *start, uint8_t *command) {
  tn_host_header_t *header = (tn_host_header_t *)(void *)command;
  header->memory_limit = start->memory_limit;
  header->grace = start->grace;
  tn_host_slot_t *slot = tn__host_slot(command, 0);
  slot->operation = TN_HOST_HELLO;
  slot->deadline = UINT64_MAX;
  slot->state = TN_HOST_POSTED;
  header->requests = 1;
}

/* The descriptors of the worker, by their numbers there. */
static int place_all(const tn_host_start_t *start, const descriptors_t *opened, posix_spawn_file_actions_t *actions) {
  const bool captures = (start->flags & TN_HOST_CAPTURE) != 0;
  int failure = posix_spawn_file_actions_adddup2(actions, opened->null, 0);
  for (int stream = 1; stream <= 2 && failure == 0; stream++) {
    const int end = opened->output[stream - 1][1];
    failure = posix_spawn_file_actions_adddup2(actions, end >= 0 ? end : opened->null, stream);
  }
  if (failure == 0) failure = posix_spawn_file_actions_adddup2(actions, opened->control[1], TN_HOST_CONTROL);
  if (failure == 0) failure = posix_spawn_file_actions_adddup2(actions, opened->doorbell[1], TN_HOST_DOORBELL);
  if (failure == 0) failure = posix_spawn_file_actions_adddup2(actions, opened->command, TN_HOST_COMMAND);
  if (failure == 0 && captures)
    failure = posix_spawn_file_actions_adddup2(actions, opened->output[0][0], TN_HOST_STDOUT);
  if (failure == 0 && captures)
    failure = posix_spawn_file_actions_adddup2(actions, opened->output[1][0], TN_HOST_STDERR);
  /* Else the worker would inherit what this process has open at these numbers without close-on-exec. */
  for (int number = TN_HOST_STDOUT; number <= TN_HOST_STDERR && failure == 0 && !captures; number++)
    failure = posix_spawn_file_actions_addclose(actions, number);
  return failure;
}

/* Signals of a terminal do not reach workers, whose process group is their own. Ignored and blocked signals are not
 * inherited. */
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int failure = posix_spawnattr_setsigmask(attributes, &none);
  if (failure == 0) failure = posix_spawnattr_setsigdefault(attributes, &all);
  if (failure == 0) failure = posix_spawnattr_setpgroup(attributes, 0);
  const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
  return failure == 0 ? posix_spawnattr_setflags(attributes, flags) : failure;
}

static int32_t spawn(const tn_host_start_t *start, const descriptors_t *opened, pid_t *process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure == 0) {
    failure = posix_spawnattr_init(&attributes);
    if (failure == 0) {
      failure = place_all(start, opened, &actions);
      if (failure == 0) failure = set_attributes(&attributes);
      if (failure == 0)
        failure = posix_spawn(process, start->program, &actions, &attributes, (char *const *)start->arguments,
                              (char *const *)start->environment);
      posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  if (failure == 0) return TN_OK;
  return tn__fail(TN_SYSTEM, "cannot start %s: %s", start->program, strerror(failure));
}

static int32_t open_lifeline(tn_host_t *host) {
  host->lifeline = (int)syscall(SYS_pidfd_open, host->process, 0);
  if (host->lifeline >= 0) return TN_OK;
  if (errno == ENOSYS)
    return tn__fail(TN_UNSUPPORTED, "workers need Linux 5.3 or later, and this system refuses pidfd_open()");
  return failed("cannot watch a worker");
}

/* Gives the worker, whose process is known, to the caller. */
static int32_t finish(tn_host_t *host, tn_host_t **out) {
  tn__host_count(host);
  const int32_t status = open_lifeline(host);
  if (status != TN_OK) {
    tn_host_close(host);
    return status;
  }
  tn__host_end_with_thread(host);
  *out = host;
  return TN_OK;
}

int32_t tn_host_start(const tn_host_start_t *start, tn_host_t **out) {
  TN_REQUIRE(start != NULL && out != NULL, "start and out must not be null");
  TN_REQUIRE(start->struct_size >= sizeof *start, "struct_size must be at least %zu, got %zu", sizeof *start,
             start->struct_size);
  TN_REQUIRE(start->program != NULL && start->arguments != NULL && start->environment != NULL,
             "the program, its arguments and its environment must not be null");
  tn_host_t *host = malloc(sizeof *host);
  if (host == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot start a worker");
  *host = (tn_host_t){.command = MAP_FAILED, .lifeline = -1, .doorbell = -1, .control = -1, .output = {-1, -1}};
  descriptors_t opened = NO_DESCRIPTORS;
  int32_t status = open_all(start, &opened);
  if (status == TN_OK) status = map_command(host, opened.command, start->flags);
  if (status == TN_OK) {
    prepare(start, host->command);
    status = spawn(start, &opened, &host->process);
  }
  if (status != TN_OK) {
    if (host->command != MAP_FAILED) munmap(host->command, TN_HOST_COMMAND_SIZE);
    close_all(&opened);
    free(host);
    return status;
  }
  host->control = opened.control[0];
  host->doorbell = opened.doorbell[0];
  host->output[0] = opened.output[0][0];
  host->output[1] = opened.output[1][0];
  opened.control[0] = opened.doorbell[0] = opened.output[0][0] = opened.output[1][0] = -1;
  close_all(&opened);
  return finish(host, out);
}

int32_t tn_host_join(int32_t command, int64_t process, tn_host_t **out) {
  TN_REQUIRE(out != NULL, "out must not be null");
  if (!tn__host_can_wait()) return tn__fail(TN_UNSUPPORTED, "command memory needs Linux 5.16 or later");
  tn_host_t *host = malloc(sizeof *host);
  if (host == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot join a worker");
  *host = (tn_host_t){.process = (pid_t)process, .lifeline = -1, .doorbell = -1, .control = -1, .output = {-1, -1},
                      .is_silent = true, .is_joined = true};
  const int32_t status = map_command(host, command, TN_HOST_UNWATCHED);
  if (status == TN_OK) return finish(host, out);
  free(host);
  return status;
}

#else
#include "base/status.h"

int32_t tn_host_start(const tn_host_start_t *start, tn_host_t **out) {
  (void)start, (void)out;
  return tn__fail(TN_UNSUPPORTED, "this system has no workers");
}
#endif
