/**
 * The crashes of programs for arm64 under qemu: the core's record of a crash has the frames, which are compared with addr2line. There is no
 * worker, because Node.js does not run there.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { DebugInfo } from '@tenon/binary/debug-info'
import type { Fault } from '../../binary/test/debug-info/fault-sources.ts'

const EMULATOR = 'qemu-aarch64-static'

/** Calls a function of a library. The handler of the signal prints the frames in the library, and `program` for those of the program. */
const PROGRAM = `
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "tenon.h"
static uintptr_t base;
int main(int count, char **arguments);
static void handle(int number, siginfo_t *info, void *context) {
  static tn_crash_t crash;
  tn_crash_record(number, info, context, &crash);
  for (uint32_t i = 0; i < crash.frames; i++) {
    Dl_info found, program;
    const bool is_known = dladdr((void *)crash.pcs[i], &found) != 0 && dladdr((void *)main, &program) != 0;
    const uintptr_t offset = (uintptr_t)crash.pcs[i] - base;
    if (is_known && (uintptr_t)found.dli_fbase == base) printf("%lx %d\\n", offset, (int)(crash.exact >> i & 1));
    else if (is_known && found.dli_fbase == program.dli_fbase) printf("program\\n");
  }
  fflush(stdout);
  _exit(number);
}
int main(int count, char **arguments) {
  if (count != 3 || tn_crash_prepare() != TN_OK) return 1;
  void *library = dlopen(arguments[1], RTLD_NOW);
  struct link_map *map;
  if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return fprintf(stderr, "%s\\n", dlerror()), 1;
  base = map->l_addr;
  static char stack[1 << 16];
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  const int signals[] = {SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGBUS};
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
  void (*function)(int);
  *(void **)&function = dlsym(library, arguments[2]);
  function(5);
  return 0;
}
`

export const hasEmulator = (): boolean => spawnSync(EMULATOR, ['--version'], { stdio: 'ignore' }).status === 0

/** Compiles the program with the core's record of crashes. @returns the path */
export function compileProgram(directory: string, prefix: string): string {
  const core = join(import.meta.dirname, '../../core/csrc')
  const path = join(directory, 'program')
  writeFileSync(`${path}.c`, PROGRAM)
  const sources = [`${path}.c`, join(core, 'base/posix/crash.c'), join(core, 'base/status.c')]
  const include = ['-I', join(core, 'include'), '-I', core]
  const flags = ['-D_GNU_SOURCE', '-DTN_VERSION="0"', '-O1', '-fexceptions', '-fasynchronous-unwind-tables']
  execFileSync(`${prefix}gcc`, [...flags, ...include, '-o', path, ...sources, '-ldl'])
  return path
}

/** The faults that are none on arm64: a division by zero has the result 0. */
export const NO_FAULTS: ReadonlySet<Fault> = new Set<Fault>(['division'])

/** A crash of a library: the addresses of instructions in it, and what is wrong with their order. */
export interface EmulatedCrash {
  readonly addresses: readonly number[]
  readonly wrong: readonly string[]
}

/** Lets a fault end the program. The frames must be in functions of the fault, and lead to the program. */
export function crash(program: string, path: string, kind: Fault, signal: NodeJS.Signals): EmulatedCrash {
  const name = kind === 'throw' ? 'thread_throw' : `enter_${kind}`
  const run = spawnSync(EMULATOR, ['-L', '/usr/aarch64-linux-gnu', program, path, name], { encoding: 'utf8' })
  const lines = run.stdout.trim().split('\n')
  const own = lines.filter((line) => /^[0-9a-f]+ [01]$/.test(line)).map((line) => line.split(' '))
  const addresses = own.map(([offset, exact]) => Number.parseInt(offset!, 16) - (exact === '1' ? 0 : 1))
  const wrong: string[] = []
  if (run.status !== constants.signals[signal]) wrong.push(`${kind}: ended with ${run.status}, expected ${signal}`)
  using info = DebugInfo.open(path)
  const functions = addresses.flatMap((address) => info.locate(address).map(({ function: found }) => found ?? '?'))
  if (!functions.some((found) => found.includes(`_${kind}`)))
    wrong.push(`${kind}: no function of the fault in ${functions.join(', ')}`)
  // A full stack is deeper than the record, and a thread has another start.
  if (kind !== 'stackOverflow' && kind !== 'throw' && !lines.includes('program'))
    wrong.push(`${kind}: the frames do not lead to the program: ${functions.join(', ')}`)
  return { addresses, wrong }
}
