import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSanitized } from '@tenon/config/sanitizer'
import { tensor, type TenonError } from '@tenon/core'
import { Library, writeNpy } from '../src/index.ts'
import { compileCrashes } from './crash-program.ts'
import { compileLibrary } from './signature-library.ts'
import { runTenon } from './run-tenon.ts'
import { thrownBy } from './thrown-by.ts'

/** Each fault has a marker in its line. */
const SOURCE = `
#include <tenon/kernel.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
typedef int32_t (*function_t)(int32_t);
static volatile float *volatile nothing;
static volatile function_t no_function;
static volatile int32_t zero, sink;
static void __attribute__((noinline)) leaf(long i) { nothing[i] = 1; /* leaf */ }
static int32_t __attribute__((noinline)) jump(void) {
  return no_function(3) + 1; /* jump */
}
static int32_t __attribute__((noinline)) recurse(int32_t depth) {
  volatile char frame[4096];
  frame[depth & 4095] = (char)depth;
  return recurse(depth + 1) + frame[depth & 4095];
}
static inline __attribute__((always_inline)) void inlined(void) { nothing[2] = 1; /* inlined */ }
static void __attribute__((noinline)) stop(void) {
  abort(); /* abort */
}
static void __attribute__((noinline)) check(void) {
  assert(zero == 1); /* assert */
}
static void __attribute__((noinline)) divide(void) {
#if defined(__x86_64__)
  sink = 7 / zero; /* divide */
#endif
}
static int compare(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b + (int)nothing[0]; /* compare */
}
static void *run(void *unused) {
  nothing[0] = 1; /* thread */
  return unused;
}
static void __attribute__((noinline)) join(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
}
TN_KERNEL(fault, "(x: f32[n]) -> (y: f32[n]); which: i32") {
  const int32_t which = tn_xla_attr_s32(in, NULL, "which");
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1);
  tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  int numbers[4] = {3, 1, 2, 4};
  switch (which) {
    case 0: leaf(0); break;
    case 1: sink = jump(); break;
    case 2: sink = recurse(0); break;
    case 3: inlined(); break;
    case 4: stop(); break;
    case 5: check(); break;
    case 6: divide(); break;
    case 7: qsort(numbers, 4, sizeof *numbers, compare); break;
    case 8: join(); break;
    case 9: __builtin_trap(); /* trap */
    default: break;
  }
}
`

const lineOf = (marker: string): number =>
  // compileLibrary() writes two lines before the source.
  SOURCE.split('\n').findIndex((line) => line.includes(`/* ${marker} */`)) + 3

const KINDS: readonly (readonly [name: string, which: number, marker: string, where: string, message: RegExp])[] = [
  ['a null pointer in a leaf', 0, 'leaf', 'leaf', /SIGSEGV writing at address 0x0 in leaf \(libkernels\.so\.c:\d+\)$/],
  ['a call of a null function', 1, 'jump', 'jump', /SIGSEGV calling the address 0x0 in jump \(/],
  ['a full stack', 2, '', 'recurse', /SIGSEGV because its stack is full in recurse \(/],
  ['an inlined function', 3, 'inlined', 'inlined', /SIGSEGV writing at address 0x8, a null pointer \+ 8 in inlined \(/],
  ['abort()', 4, 'abort', 'stop', /SIGABRT in stop \(/],
  ['an assertion', 5, 'assert', 'check', /SIGABRT in check \(/],
  ...(process.arch === 'x64' ? ([['a division by zero', 6, 'divide', 'divide', /SIGFPE in divide \(/]] as const) : []),
  ['a function that the system calls', 7, 'compare', 'compare', /SIGSEGV reading at address 0x0 in compare \(/],
  ['another thread', 8, 'thread', 'run', /SIGSEGV writing at address 0x0 in run \(/],
  ['an invalid instruction', 9, 'trap', 'fault__body', /SIG(ILL|TRAP) in fault__body \(/],
]

interface Frame {
  readonly function?: string
  readonly file?: string
  readonly line?: number
  readonly inlined: boolean
  readonly library?: string
}

const COMPILERS = ['-O0', '-O1', '-O2', '-O3 -fomit-frame-pointer'] as const

async function crashOf(library: Awaited<ReturnType<typeof Library.isolate>>, which: number): Promise<TenonError> {
  return (await library
    .kernel('fault')
    .async(tensor([1, 2, 3]), { which } as never)
    .catch((error: unknown) => error)) as TenonError
}

const framesOf = (error: TenonError): readonly Frame[] => error.details['frames'] as readonly Frame[]

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-crash-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const restart = { limit: 10_000, backoff: 0 }

if (!isSanitized)
  describe.each(COMPILERS)('a kernel that was compiled with -g %s', (flags) => {
    let library: Awaited<ReturnType<typeof Library.isolate>>
    beforeAll(async () => {
      const folder = mkdtempSync(join(directory, 'kind-'))
      const path = compileLibrary(folder, SOURCE, 'libkernels.so', 'c', '-g', '-w', '-pthread', ...flags.split(' '))
      library = await Library.isolate(path, { restart })
    })
    afterAll(async () => library.closeAsync())

    test.each(KINDS)('%s is found in its function and line', async (_, which, marker, where, message) => {
      const error = await crashOf(library, which)
      expect((error as unknown as { sentence: string }).sentence).toMatch(message)
      const frames = framesOf(error).filter(({ library: file }) => file?.endsWith('libkernels.so'))
      expect(frames[0]).toMatchObject({ function: where, ...(marker === '' ? {} : { line: lineOf(marker) }) })
      if (which !== 2 && which !== 8) expect(frames.at(-1)).toMatchObject({ function: 'fault' })
      expect(error.details['arguments']).toEqual(['operand float32[3]', 'result float32[3]', `which = s32(${which})`])
    })
  })

if (!isSanitized)
  describe('the file of a library', () => {
    test('that was replaced gives no names, and not those of the new one', async () => {
      const folder = mkdtempSync(join(directory, 'replaced-'))
      const path = compileLibrary(folder, SOURCE, 'libkernels.so', 'c', '-g', '-w', '-pthread')
      await using library = await Library.isolate(path, { restart })
      await crashOf(library, 10)
      const other = compileLibrary(folder, `\n\n\n${SOURCE}`, 'libother.so', 'c', '-g', '-w', '-pthread', '-O2')
      renameSync(other, path)
      const error = await crashOf(library, 0)
      for (const frame of framesOf(error).filter(({ library: file }) => file === path)) {
        expect(frame).not.toHaveProperty('function')
        expect(frame).not.toHaveProperty('line')
      }
      expect(error.details['backtrace']).toContainEqual(expect.stringMatching(/^\? \(libkernels\.so\+0x/))
    })

    test('without build ID is known as long as it is the same file', async () => {
      const folder = mkdtempSync(join(directory, 'no-id-'))
      const compile = (name: string, ...flags: string[]): string =>
        compileLibrary(folder, SOURCE, name, 'c', '-g', '-w', '-pthread', '-Wl,--build-id=none', ...flags)
      const path = compile('libkernels.so')
      await using library = await Library.isolate(path, { restart })
      expect(framesOf(await crashOf(library, 0))[0]).toMatchObject({ function: 'leaf', line: lineOf('leaf') })
      await crashOf(library, 10)
      renameSync(compile('libother.so', '-O2'), path)
      expect(framesOf(await crashOf(library, 0))[0]).not.toHaveProperty('function')
    })

    test('without symbols gives the library and the offset', async () => {
      const folder = mkdtempSync(join(directory, 'stripped-'))
      const path = compileLibrary(folder, SOURCE, 'libkernels.so', 'c', '-w', '-pthread')
      execFileSync('strip', [path])
      await using library = await Library.isolate(path, { restart })
      const error = await crashOf(library, 0)
      expect((error.details['backtrace'] as string[])[0]).toMatch(/^\? \(libkernels\.so\+0x[0-9a-f]+\)$/)
    })
  })

if (!isSanitized)
  describe('a C++ exception', () => {
    test('that no thread catches is named with the place where it was thrown', async () => {
      const folder = mkdtempSync(join(directory, 'thrown-'))
      const source = `
#include <stdexcept>
#include <thread>
namespace mine { struct Error : std::runtime_error { using runtime_error::runtime_error; }; }
static void __attribute__((noinline)) fail() { throw mine::Error("on purpose"); }
extern "C" void go() { std::thread(fail).join(); }
`
      const path = compileLibrary(folder, source, 'libthrown.so', 'cc', '-g', '-pthread')
      await using library = await Library.isolate(path, { restart })
      const error = thrownBy(library.function('go', { result: 'void' })) as TenonError
      expect(error.details['exception']).toBe('mine::Error')
      expect((error as unknown as { sentence: string }).sentence).toMatch(
        /crashed: SIGABRT after mine::Error was thrown in fail\S* \(libthrown\.so\.cc:7\)$/,
      )
    })
  })

/** The libraries and debug files that this process has open. */
const openLibraries = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return /\.(?:so|debug)\b/.test(path) ? [path] : []
    } catch {
      // The descriptor of the listing itself is closed.
      return []
    }
  })

test('the error of a packed function, and of one of C, has the types of its arguments', async () => {
  const folder = mkdtempSync(join(directory, 'arguments-'))
  await using library = await Library.isolate(compileCrashes(folder), { restart })
  const argumentsOf = async (call: Promise<unknown>): Promise<unknown> =>
    ((await call.catch((error: unknown) => error)) as TenonError).details['arguments']
  const packed = library.packed('fault_packed').async(0, 'text', 1.5, tensor([1]))
  expect(await argumentsOf(packed)).toEqual(['argument int', 'argument str', 'argument float', 'argument float32[1]'])
  const plain = library.function('fault', { result: 'int32', parameters: ['int32'] }).async(0)
  expect(await argumentsOf(plain)).toEqual(['argument int32'])
})

test('files that were read for a crash are closed', async () => {
  const folder = mkdtempSync(join(directory, 'descriptors-'))
  const path = compileLibrary(folder, SOURCE, 'libkernels.so', 'c', '-g', '-w', '-pthread')
  await using library = await Library.isolate(path, { restart })
  const before = openLibraries()
  for (let round = 0; round < 3; round++) await crashOf(library, 4)
  expect(openLibraries()).toEqual(before)
})

if (!isSanitized)
  test('the session of the guide is what the command prints, other than offsets', () => {
    const folder = mkdtempSync(join(directory, 'guide-'))
    const page = readFileSync(new URL('../../../docs/debug-crash.md', import.meta.url), 'utf8')
    const [, source] = /```c file=gather\.c\n([^`]*)```/.exec(page)!
    const [, session] = /```text\n([^`]*)```/.exec(page)!
    writeFileSync(join(folder, 'gather.c'), source!)
    const include = fileURLToPath(new URL('../../core/include', import.meta.url))
    execFileSync('gcc', ['-g', '-O1', '-shared', '-fPIC', '-I', include, '-o', 'libgather.so', 'gather.c'], {
      cwd: folder,
    })
    writeNpy(join(folder, 'table.npy'), tensor('f32', [2, 2], [1, 2, 3, 4]))
    writeNpy(join(folder, 'picks.npy'), tensor('i32', [1], [900]))
    const [command, ...printed] = session!.trimEnd().split('\n')
    const { stderr } = runTenon(command!.replace('$ npx tenon ', '').split(' '), { cwd: folder })
    const withoutOffsets = (text: string): string => text.replaceAll(/\+0x[0-9a-f]+\)/g, ')')
    expect(withoutOffsets(stderr.trimEnd())).toBe(withoutOffsets(printed.join('\n')))
  })
