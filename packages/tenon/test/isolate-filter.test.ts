import { constants as fileConstants } from 'node:fs'
import { constants } from 'node:os'
import { describe, expect, test } from 'vitest'
import { Library, tensor, type IsolatedLibrary } from '../src/index.ts'
import { fixturePath } from './isolated.ts'

const { EPERM, ENOSYS, EACCES } = constants.errno
const { O_RDONLY, O_RDWR } = fileConstants

/** The numbers of system calls, which have been the same on all processors since 424. */
const numbers: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  x64: {
    socket: 41,
    connect: 42,
    bind: 49,
    listen: 50,
    fork: 57,
    vfork: 58,
    execve: 59,
    kill: 62,
    fcntl: 72,
    ioctl: 16,
    clone: 56,
    ptrace: 101,
    setpgid: 109,
    setsid: 112,
    rt_sigqueueinfo: 129,
    chroot: 161,
    mount: 165,
    reboot: 169,
    init_module: 175,
    tkill: 200,
    tgkill: 234,
    keyctl: 250,
    migrate_pages: 256,
    unshare: 272,
    move_pages: 279,
    perf_event_open: 298,
    prlimit64: 302,
    open_by_handle_at: 304,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    bpf: 321,
    execveat: 322,
    userfaultfd: 323,
  },
  arm64: {
    socket: 198,
    connect: 203,
    bind: 200,
    listen: 201,
    execve: 221,
    kill: 129,
    fcntl: 25,
    ioctl: 29,
    clone: 220,
    ptrace: 117,
    setpgid: 154,
    setsid: 157,
    rt_sigqueueinfo: 138,
    chroot: 51,
    mount: 40,
    reboot: 142,
    init_module: 105,
    tkill: 130,
    tgkill: 131,
    keyctl: 219,
    migrate_pages: 238,
    unshare: 97,
    move_pages: 239,
    perf_event_open: 241,
    prlimit64: 261,
    open_by_handle_at: 265,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    bpf: 280,
    execveat: 281,
    userfaultfd: 282,
  },
}
const later: Readonly<Record<string, number>> = {
  pidfd_send_signal: 424,
  io_uring_setup: 425,
  io_uring_enter: 426,
  open_tree: 428,
  fsopen: 430,
  pidfd_open: 434,
  pidfd_getfd: 438,
  process_madvise: 440,
  landlock_create_ruleset: 444,
}

const [AF_INET, SIGCHLD, F_SETOWN, F_SETSIG, F_SETOWN_EX, TIOCSTI, FIOSETOWN] = [2, 17, 8, 10, 15, 0x5412, 0x8901]
const [PTRACE_TRACEME, PTRACE_ATTACH, DOORBELL] = [0, 16, 4]
const client = process.pid

/** System calls with arguments that do no harm where they are not refused. */
const calls: readonly (readonly [what: string, call: string, ...values: number[]])[] = [
  ['a program', 'execve', 0, 0, 0],
  ['a program of a descriptor', 'execveat', -1, 0, 0, 0, 0],
  ['a process', 'clone', SIGCHLD | 0x800, 0, 0, 0, 0], // CLONE_SIGHAND without CLONE_VM is not valid
  ['a session', 'setsid'],
  ['a group of processes', 'setpgid', client, client],
  ['to be traced', 'ptrace', PTRACE_TRACEME, 0, 0, 0],
  ['to trace the client', 'ptrace', PTRACE_ATTACH, -1, 0, 0],
  ['to read the client', 'process_vm_readv', client, 0, 0, 0, 0, 0],
  ['to write to the client', 'process_vm_writev', client, 0, 0, 0, 0, 0],
  ['to compare processes', 'kcmp', client, client, 0, 0, 0],
  ['a signal to the client', 'kill', client, 0],
  ['a signal to all processes', 'kill', -1, 0],
  ['a signal to a thread', 'tkill', client, 0],
  ['a signal to a thread of the client', 'tgkill', client, client, 0],
  ['a signal with a value', 'rt_sigqueueinfo', client, 0, 0],
  ['a signal through a descriptor', 'pidfd_send_signal', -1, 0, 0, 0],
  ['the owner of a descriptor', 'fcntl', DOORBELL, F_SETOWN, client],
  ['the owner of a descriptor as a struct', 'fcntl', DOORBELL, F_SETOWN_EX, 0],
  ['the signal of a descriptor', 'fcntl', DOORBELL, F_SETSIG, 0],
  ['the owner of a socket', 'ioctl', DOORBELL, FIOSETOWN, 0],
  ['to type on a terminal', 'ioctl', DOORBELL, TIOCSTI, 0],
  ['the limits of the client', 'prlimit64', client, 7, 0, 0],
  ['the pages of the client', 'move_pages', client, 0, 0, 0, 0, 0],
  ['all pages of the client', 'migrate_pages', client, 0, 0, 0],
  ['a descriptor of the client', 'pidfd_getfd', -1, 0, 0],
  ['a handle of the client', 'pidfd_open', client, 0],
  ['advice to the client', 'process_madvise', -1, 0, 0, 0, 0],
  ['a socket', 'socket', AF_INET, 1, 0],
  ['a connection', 'connect', -1, 0, 0],
  ['an address', 'bind', -1, 0, 0],
  ['connections', 'listen', -1, 0],
  ['a ring of requests', 'io_uring_setup', 0, 0],
  ['an entry of a ring', 'io_uring_enter', -1, 0, 0, 0, 0, 0],
  ['a program in the kernel', 'bpf', -1, 0, 0],
  ['a counter', 'perf_event_open', 0, 0, -1, -1, 0],
  ['faults of pages', 'userfaultfd', -1],
  ['a mount', 'mount', 0, 0, 0, 0, 0],
  ['a tree of mounts', 'open_tree', -1, 0, 0],
  ['a file system', 'fsopen', 0, 0],
  ['another root', 'chroot', 0],
  ['namespaces', 'unshare', -1],
  ['the namespace of another', 'setns', -1, 0],
  ['a file by its handle', 'open_by_handle_at', -1, 0, 0],
  ['keys', 'keyctl', -1, 0, 0, 0, 0],
  ['a module', 'init_module', 0, 0, 0],
  ['a reboot', 'reboot', 0, 0, 0, 0],
]
/** What a kernel needs: signals to its own process, and its own limits. */
const allowed: readonly (readonly [what: string, call: string, ...values: number[]])[] = [
  ['a limit of its own', 'prlimit64', 0, 7, 0, 0],
  ['the flags of a descriptor', 'fcntl', DOORBELL, 1, 0],
]

const numberOf = (call: string): number => numbers[process.arch]?.[call] ?? later[call]!

/** The errors of system calls that a kernel makes. */
function errorsOf(library: IsolatedLibrary, made: typeof calls): number[] {
  const rows = made.map(([, call, ...values]) => [numberOf(call), ...values, 0, 0, 0, 0, 0, 0].slice(0, 7))
  const errors = library.kernel('system_calls')(tensor('i64', rows))
  return [...errors.toArray()].map(Number)
}

// Workers need Linux, and the filter one of these processors.
if (process.platform === 'linux' && process.arch in numbers) {
  describe('the filter of system calls refuses a kernel', () => {
    test('programs, processes, signals, the network and other processes', async () => {
      await using library = await Library.isolate(fixturePath('hostile'))
      const errors = errorsOf(library, calls)
      const outcomes = calls.map(([what], i) => `${what}: ${errors[i]}`)
      expect(outcomes).toEqual(calls.map(([what]) => `${what}: ${EPERM}`))
      expect(errorsOf(library, allowed)).toEqual(allowed.map(() => 0))
      expect(library.metrics().restarts).toBe(0)
    })

    test.runIf(process.arch === 'x64')('fork(), and clone3(), of which the library makes clone()', async () => {
      await using library = await Library.isolate(fixturePath('hostile'))
      expect(
        errorsOf(library, [
          ['', 'fork'],
          ['', 'vfork'],
        ]),
      ).toEqual([EPERM, EPERM])
      const errors = library.kernel('system_calls')(tensor('i64', [[435, 0, 0, 0, 0, 0, 0]]))
      expect(errors.toArray().map(Number)).toEqual([ENOSYS])
    })

    test('files of /proc that show the memory, the environment, the descriptors or the folders of the client, where the system has Landlock', async () => {
      for (const sandbox of ['off', 'default'] as const) {
        await using library = await Library.isolate(fixturePath('hostile'), { sandbox })
        const open = library.kernel('open_file')
        const errorOf = (path: string, flags: number): number => {
          const bytes = [...Buffer.from(`${path}\0`)]
          return Number(open(tensor('u8', [bytes.length], bytes), { flags: BigInt(flags) }).toArray()[0])
        }
        const [hasLandlock] = errorsOf(library, [['its version', 'landlock_create_ruleset', 0, 0, 1]]).map(
          (no) => no === 0,
        )
        const expected = sandbox === 'default' && hasLandlock ? EACCES : 0
        expect(errorOf(`/proc/${client}/mem`, O_RDWR)).toBe(expected)
        const closed = ['mem', 'environ', 'auxv', 'maps', 'smaps', 'pagemap', 'fdinfo/2', 'exe', 'cwd', 'root']
        expect(closed.map((name) => [name, errorOf(`/proc/${client}/${name}`, O_RDONLY)])).toEqual(
          closed.map((name) => [name, expected]),
        )
        // Every user can read these.
        for (const name of ['cmdline', 'status', 'limits']) expect(errorOf(`/proc/${client}/${name}`, O_RDONLY)).toBe(0)
        expect(errorOf('/dev/null', O_RDWR)).toBe(0)
      }
    })

    test('but not with sandbox: off, as far as the system allows', async () => {
      await using library = await Library.isolate(fixturePath('hostile'), { sandbox: 'off' })
      const harmless = new Set(['execve', 'clone', 'kill', 'tgkill', 'socket', 'connect', 'ioctl', 'process_vm_writev'])
      const made = calls.filter(([, call]) => harmless.has(call))
      const errors = errorsOf(library, made)
      expect(made.map(([what], i) => `${what}: ${errors[i] === EPERM}`)).toEqual(made.map(([what]) => `${what}: false`))
    })
  })
}
