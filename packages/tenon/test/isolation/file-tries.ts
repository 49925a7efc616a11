/** Libraries whose files change while they are used, and libraries and programs that do not start. */
import { packageFlags } from '@tenon/config/package-flags'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { coreLibrary, runtime } from '@tenon/core/internal'
import { Library, tensor, type Tensor } from 'tenon'
import { Problems } from './problems.ts'
import { children } from './process-facts.ts'

type IsolatedLibrary = Awaited<ReturnType<typeof Library.isolate>>

const options = { deadline: 1000, grace: 20, restart: { limit: 1e6, window: 1000, backoff: 1 } }
const x = (): Tensor => tensor([1, 2, 3])
const isTwice = (y: Tensor): boolean => y.toArray().join() === '2,4,6'
const FAILURES = ['LoadError', 'NativeError', 'KernelCrashError', 'KernelDeadlineError', 'WorkerLostError']

const HANDLER = `
#include <stdlib.h>
#include <unistd.h>
#include <tenon/kernel.h>
TN_KERNEL(faulty, "(x: f32[n]) -> (y: f32[n]) -- Twice x.") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1), *y = tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  for (int64_t i = 0; i < x->dims[0]; i++) ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
}
`

/** What the constructor of the library does, and whether calls succeed nevertheless. */
const constructors: readonly (readonly [body: string, isHarmless: boolean])[] = [
  ['*(volatile int *)0xdead000 = 1', false],
  ['abort()', false],
  ['for (;;) pause()', false],
  ['exit(3)', false],
  ['_exit(0)', false],
  ['if (fork() == 0) _exit(0)', true],
  ['usleep(300000)', true],
  ['close(3), close(4), close(5)', false],
]

const CONSTRUCTOR = `
__attribute__((constructor)) static void start(void) {
  switch (atoi(getenv("WHAT"))) {
${constructors.map(([body], i) => `    case ${i}: ${body}; break;`).join('\n')}
  }
}
`

export async function main({ path }: { readonly path: string }): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-files-'))
  const problems = new Problems()
  await changes(problems, folder, path)
  await Promise.all([
    constructed(problems, folder),
    foreignFiles(problems, folder, path),
    programs(problems, folder, path),
  ])
  problems.check('the end', children().length === 0, `children ${children().join()}`)
  rmSync(folder, { recursive: true })
  return problems.list
}

/** The file changes after the library was opened, and is loaded again by new workers. */
async function changes(problems: Problems, folder: string, path: string): Promise<void> {
  const alter: Readonly<Record<string, (file: string) => void>> = {
    removed: (file) => rmSync(file),
    emptied: (file) => {
      rmSync(file)
      writeFileSync(file, '')
    },
    'another text': (file) => {
      rmSync(file)
      writeFileSync(file, 'x'.repeat(10_000))
    },
    // Pages of a library that is in use vanish under it.
    truncated: (file) => truncateSync(file, 4096),
    'without rights': (file) => chmodSync(file, 0),
    'a folder': (file) => {
      rmSync(file)
      execFileSync('mkdir', [file])
    },
  }
  await Promise.all(
    Object.entries(alter).map(async ([name, change], i) => {
      const file = join(folder, `changed-${i}.so`)
      copyFileSync(path, file)
      const library = await Library.isolate(file, options)
      const faulty = library.kernel('faulty')
      problems.check(name, isTwice(faulty(x())), 'a wrong result')
      change(file)
      await problems.run(`${name}, in use`, () => faulty(x()), FAILURES)
      await problems.run(`${name}, restart`, () => library.restart(), FAILURES)
      const isReadable = name === 'without rights' && process.getuid!() === 0
      if (isReadable) problems.check(name, isTwice(await faulty.async(x())), 'a wrong result')
      else await problems.fails(name, () => faulty.async(x()), ...FAILURES)
      // It works again once the file is there.
      rmSync(file, { recursive: true, force: true })
      copyFileSync(path, `${file}.new`)
      renameSync(`${file}.new`, file)
      await problems.run(`${name}, restored`, () => library.restart(), [])
      await problems.run(
        `${name}, restored`,
        async () => {
          problems.check(name, isTwice(await faulty.async(x())), 'a wrong result at the end')
        },
        [],
      )
      await library.closeAsync()
    }),
  )
}

/** Libraries whose constructors do what they should not. */
async function constructed(problems: Problems, folder: string): Promise<void> {
  const include = ['csrc/include', 'include'].flatMap((name) => [
    '-I',
    join(import.meta.dirname, '../../../core', name),
  ])
  const [source, file] = [join(folder, 'constructor.c'), join(folder, 'constructor.so')]
  writeFileSync(source, HANDLER + CONSTRUCTOR)
  execFileSync(process.env['CC'] ?? 'cc', ['-O1', '-w', '-shared', '-fPIC', ...include, '-o', file, source])
  await Promise.all(
    constructors.map(async ([body, isHarmless], i) => {
      const env = { WHAT: String(i) }
      let library: IsolatedLibrary | undefined
      await problems.run(body, async () => (library = await Library.isolate(file, { ...options, env })), [])
      if (library === undefined) return
      const faulty = library.kernel('faulty')
      for (const call of [() => faulty(x()), () => faulty.async(x())]) {
        if (isHarmless) {
          await problems.run(body, async () => problems.check(body, isTwice(await call()), 'a wrong result'), [])
        } else {
          await problems.fails(body, call, ...FAILURES)
        }
      }
      await library.closeAsync()
    }),
  )
}

/** Files that are no libraries of this system. */
async function foreignFiles(problems: Problems, folder: string, path: string): Promise<void> {
  const bytes = readFileSync(path)
  const altered = (at: number, value: number): Buffer => {
    const copy = Buffer.from(bytes)
    copy[at] = value
    return copy
  }
  const files: Readonly<Record<string, Buffer>> = {
    empty: Buffer.alloc(0),
    'no library': Buffer.from('text'),
    'of another processor': altered(18, process.arch === 'x64' ? 183 : 62),
    'of 32 bits': altered(4, 1),
    'a header': bytes.subarray(0, 64),
    'a half': bytes.subarray(0, bytes.length / 2),
  }
  for (const [name, contents] of Object.entries(files)) {
    const file = join(folder, `${name}.so`)
    writeFileSync(file, contents)
    await problems.fails(
      name,
      async () => {
        const library = await Library.isolate(file, options)
        try {
          library.kernel('faulty')(x())
        } finally {
          await library.closeAsync()
        }
      },
      'LoadError',
      'ArgumentError',
      'KernelCrashError',
    )
  }
}

/** The program of the workers is missing, or is none. A process has one core, so another one tries. */
async function programs(problems: Problems, folder: string, path: string): Promise<void> {
  const core = dirname(coreLibrary().path)
  const copies = join(folder, 'core')
  execFileSync('mkdir', [copies])
  for (const name of readdirSync(core)) {
    if (name.startsWith('libtenon') || name.startsWith('tenon') || name.startsWith('libtvm'))
      copyFileSync(join(core, name), join(copies, name))
  }
  const host = join(copies, 'tenon-host')
  const program = `
    import { Library, tensor } from 'tenon'
    try { await Library.isolate(${JSON.stringify(path)}); console.log('opened') } catch (error) { console.log(error.name, error.message.split('\\n')[0]) }`
  const attempt = (): string =>
    execFileSync(process.execPath, runtime.moduleArguments([...packageFlags, '--no-warnings'], program), {
      env: { ...process.env, TENON_CORE_LIBRARY: join(copies, 'libtenon.so') },
      cwd: join(import.meta.dirname, '../..'),
      encoding: 'utf8',
      timeout: 20_000,
    }).trim()
  const states: readonly (readonly [name: string, change: () => void, expected: RegExp])[] = [
    ['complete', () => undefined, /^opened$/],
    ['not executable', () => chmodSync(host, 0o644), /^(?:NativeError|LoadError) .*tenon-host/],
    ['empty', () => writeFileSync(host, '', { mode: 0o755 }), /^(?:NativeError|LoadError) .*tenon-host/],
    ['missing', () => rmSync(host), /^(?:NativeError|LoadError) .*tenon-host/],
  ]
  for (const [name, change, expected] of states) {
    change()
    if (name === 'empty') chmodSync(host, 0o755)
    const text = attempt()
    problems.check(`tenon-host is ${name}`, expected.test(text), text)
  }
}
