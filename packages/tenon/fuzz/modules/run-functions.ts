import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFlags } from '@tenon/config/package-flags'

import { runTenon } from '../../test/run-tenon.ts'
import { typeCheck } from '../../test/bind/type-check.ts'
import { type Case, makeCase } from './cases.ts'
import { cLibrary } from './c-library.ts'
import { programOf } from './program.ts'
import { randomFunctions } from './random-functions.ts'

/** The outcome of a library of random functions. */
export interface Outcome {
  /** The output of `tenon bind` about it. */
  readonly summary: string
  /** Errors of the strict compiler of TypeScript in the module and the program. */
  readonly types: string
  /** The output of the program: each value that is wrong, and at the end how many functions it called. */
  readonly output: string
  /** The same with the functions that can run in another process. */
  readonly isolated: string
  /** How many those are. */
  readonly isolatable: number
}

/** Whether a function takes or returns an address, which means nothing in another process. */
const hasAddress = ({ function: { parameters, rest = [], result } }: Case): boolean =>
  [...parameters, result].some((one) => one.kind === 'value' && one.type === 'pointer') || rest.includes('pointer')

/** Generates a library of functions with random signatures, binds it, and calls all of them through the module. */
export function runFunctions(seed: number, count: number, compiler = process.env['CC'] ?? 'cc'): Outcome {
  // In the package, so that the module finds tenon.
  const directory = mkdtempSync(join(fileURLToPath(new URL('../..', import.meta.url)), 'reports-functions-'))
  try {
    const cases = randomFunctions(seed, count).map((one, index) => makeCase(one, seed, index))
    const { header, source } = cLibrary(cases)
    const at = (name: string): string => join(directory, name)
    writeFileSync(at('random.h'), header)
    writeFileSync(at('random.c'), source)
    const [command = '', ...flags] = compiler.split(/\s+/)
    execFileSync(command, [...flags, '-w', '-O1', '-shared', '-fPIC', '-o', at('librandom.so'), at('random.c')])
    const bind = ['bind', 'random.h', '--library', './librandom.so', '--output', 'random', '--report', '--isolate']
    const bound = runTenon(bind, { cwd: directory })
    if (bound.code !== 0) throw new Error(`tenon ${bind.join(' ')} failed:\n${bound.stderr}`)
    const types = typeCheck(directory, 'use.ts', programOf(cases))
    const refused = [...bound.stdout.matchAll(/^random\.h:\d+ (\w+): .*not in another process$/gm)].map(
      ([, name]) => name!,
    )
    const omitted = [...new Set([...refused, ...cases.filter(hasAddress).map((one) => one.function.name)])]
    const run = (isIsolated: boolean): string => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [...packageFlags, '--disable-warning=ExperimentalWarning', 'use.ts', ...(isIsolated ? omitted : [])],
        { cwd: directory, encoding: 'utf8', env: { ...process.env, ISOLATED: isIsolated ? '1' : '' } },
      )
      return stdout + stderr
    }
    return {
      summary: bound.stdout + bound.stderr,
      types,
      output: run(false),
      isolated: run(true),
      isolatable: count - omitted.length,
    }
  } finally {
    if (!process.env['TENON_KEEP']) rmSync(directory, { recursive: true })
  }
}
