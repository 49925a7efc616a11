import { basename, dirname } from 'node:path'

import type { HeaderCompiler } from './preprocess.ts'

/** Headers of ISO C and POSIX. What they bring in belongs to the system, and not to the library that is bound. */
const SYSTEM_HEADERS =
  'aio arpa/inet assert complex cpio ctype dirent dlfcn errno fcntl fenv float fmtmsg fnmatch ftw glob grp iconv inttypes iso646 langinfo ' +
  'libgen limits locale math monetary mqueue ndbm net/if netdb netinet/in netinet/tcp nl_types poll pthread pwd regex sched search ' +
  'semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings stropts ' +
  'sys/cdefs sys/epoll sys/eventfd sys/ioctl sys/ipc sys/mman sys/msg sys/param sys/resource sys/select sys/sem sys/shm sys/socket ' +
  'sys/stat sys/statvfs sys/syscall sys/sysmacros sys/time sys/times sys/types sys/ucontext sys/uio sys/un sys/utsname sys/wait syslog ' +
  'tar termios tgmath threads time trace uchar ulimit unistd utime utmpx wchar wctype wordexp malloc alloca features endian byteswap ' +
  'xlocale crtdefs corecrt io process direct winsock2 windows AvailabilityMacros Availability TargetConditionals'

/**
 * Finds the files of the C library, of POSIX and of the compiler, by the paths that the compiler uses for them. Headers that it does not
 * have are left out.
 */
export async function findSystemFiles(compiler: HeaderCompiler): Promise<(path: string) => boolean> {
  const code = SYSTEM_HEADERS.split(' ')
    .map((name) => `#if __has_include(<${name}.h>)\n#include <${name}.h>\n#endif\n`)
    .join('')
  // Not -M, which zig does not have.
  const { stdout } = await compiler.run(code, ['-E', '-w'])
  const files = new Set(Array.from(stdout.matchAll(FILE), ([, path = '']) => path.replaceAll(/\\(.)/g, '$1')))
  const own = compilerDirectory(files)
  return (path) =>
    path === '' || path.startsWith('<') || files.has(path) || dirname(path) === own || COMPILER_FILE.test(path)
}

/** The first line of a file in the output of the preprocessor. */
const FILE = /^#(?:line)? 1 "((?:[^"\\]|\\.)*)" 1/gm

/** A header of the compiler, such as `stddef.h` below its own directory. */
const COMPILER_FILE = /\/(?:gcc|clang|zig)\/(?:.*\/)?include(?:-fixed)?\//

/** The directory of the compiler's own headers. Undefined if they are those of the C library. */
function compilerDirectory(files: ReadonlySet<string>): string | undefined {
  const directoryOf = (name: string): string | undefined => {
    const file = [...files].find((path) => basename(path) === name)
    return file === undefined ? undefined : dirname(file)
  }
  const own = directoryOf('stdarg.h')
  return own === directoryOf('stdio.h') ? undefined : own
}
