/**
 * The command `pnpm rehearse:kernel [--node 22,24,26] [--packages DIRECTORY]`, which goes from an empty folder to an installed package as a user would: it
 * publishes Tenon's packages to a registry on this machine, makes a package of kernels and one that binds a C library with `tenon new`,
 * builds, tests, packs and publishes them there, checks their declarations with two versions of TypeScript, and calls them in new projects of
 * npm, pnpm and Yarn on each tested version of Node.js. Tenon's packages are the tarballs of the folder, or are packed for this machine. Needs a C compiler and npm's
 * registry.
 */
import { parseArgs } from 'node:util'

import { testedNodes } from '@tenon/config/node-versions'
import { runMain, ToolError } from '@tenon/build'

import { build } from './lib/turbo.ts'
import { rehearse, type Sandbox } from './rehearse/rehearsal.ts'
import { useEverywhere, usingProgram } from './rehearse/use-everywhere.ts'

/** A package of a new user. */
interface OwnPackage {
  readonly name: string
  /** The first argument of `tenon new`. */
  readonly kind: 'kernel' | 'binding'
  /** A program that calls it. */
  readonly program: string
  /** Statements that compile only with its types. */
  readonly typed: string
}

const kernels: OwnPackage = {
  name: 'my-kernels',
  kind: 'kernel',
  program: usingProgram(
    `import { tensor } from 'tenon'
import { silu } from 'my-kernels'`,
    `const rounded = (y) => y.toArray().map((value) => Math.round(value * 1e6))
equal(rounded(silu(tensor('f32', [2], [0, 1]))), [0, 731059])
equal(rounded(await silu.async(tensor('f32', [2], [0, 1]), { beta: 1 })), [0, 731059])`,
  ),
  typed: `import { tensor, type Tensor } from 'tenon'
import { silu } from 'my-kernels'
export const y: Tensor<'float32'> = silu(tensor('f32', [2]), { beta: 1 })
// @ts-expect-error: the operand must have elements of type f32
silu(tensor('s32', [2]))
// @ts-expect-error: the attribute is a number
silu(tensor('f32', [2]), { beta: 'x' })
`,
}

const counters: OwnPackage = {
  name: 'my-counters',
  kind: 'binding',
  program: usingProgram(
    `import { Library } from 'tenon'
import * as counters from 'my-counters'`,
    `const add = () => {
  const counter = counters.counter_open(10)
  counters.counter_add(counter, 7)
  equal(counters.counter_value(counter), 7)
  let error
  try { counters.counter_add(counter, 4) } catch (caught) { error = caught }
  equal(error?.code, 'TENON_STATUS')
  counter.close()
}
const workers = await Library.isolate(counters.library, { workers: 1 })
add()
await workers.closeAsync()
`,
  ),
  typed: `import * as counters from 'my-counters'
export const counter: counters.Counter = counters.counter_open(1)
export const value: number = counters.counter_value(counter)
// @ts-expect-error: the limit is a number
counters.counter_open('x')
// @ts-expect-error: a counter is needed
counters.counter_value(1)
`,
}

await runMain(async () => {
  const { values } = parseArgs({
    options: { node: { type: 'string', default: testedNodes.join(',') }, packages: { type: 'string' } },
  })
  if (values.packages === undefined) await build()
  await rehearse(
    values.packages,
    async (rehearsal) => {
      say('published the packages of Tenon')
      for (const one of [kernels, counters]) {
        await publish(rehearsal.sandbox(), one)
        await checkTypes(rehearsal.sandbox(), one)
      }
      await useEverywhere(
        rehearsal,
        values.node,
        { [kernels.name]: kernels.program, [counters.name]: counters.program },
        [
          [kernels.name, `import { silu } from 'my-kernels'`, 'silu()'],
          [counters.name, `import { counter_open } from 'my-counters'`, 'counter_open(1)'],
        ].map(([name = '', imports = '', call = '']) => ({
          package: name,
          imports,
          call,
          error: new RegExp(`^TENON_LOAD no platform package of ${name} is installed`),
        })),
        ['tenon'],
      )
    },
    [kernels, counters].flatMap(({ name }) => [name, `${name}-*`]),
  )
})

/** The way of a new user, by the commands of the documentation. */
async function publish({ run }: Sandbox, { name, kind }: OwnPackage): Promise<void> {
  const started = performance.now()
  await run(['npx', '--yes', '-p', 'tenon', '-p', '@tenon/build', 'tenon', 'new', kind, name])
  await run(['npm', 'install'], name)
  for (const command of ['build', 'test', 'pack', 'publish --dry-run', 'publish'])
    await run(['npx', 'tenon', ...command.split(' ')], name)
  // A second run publishes nothing.
  const { stderr } = await run(['npx', 'tenon', 'publish'], name)
  if (!stderr.includes(`${name}@0.1.0 is published already`)) throw new ToolError(`published again:\n${stderr}`)
  say(`made, tested and published ${name} in ${((performance.now() - started) / 1000).toFixed(0)} s`)
}

/** Checks a program that uses the package, and the declarations of the package, with the strictest settings. */
async function checkTypes({ run, write }: Sandbox, { name, typed }: OwnPackage): Promise<void> {
  write({ 'package.json': '{ "type": "module", "private": true }', 'use.ts': typed })
  const compilers = ['typescript-5@npm:typescript@5.9', 'typescript-7@npm:typescript@7']
  await run(['npm', 'install', name, 'tenon', '@types/node@22', ...compilers])
  const strict = '--noEmit --strict --exactOptionalPropertyTypes --target es2024 --types node --skipLibCheck false'
  for (const compiler of ['typescript-5', 'typescript-7']) {
    for (const module of ['--module nodenext', '--module esnext --moduleResolution bundler']) {
      const options = [...strict.split(' '), ...module.split(' ')]
      await run(['node', `node_modules/${compiler}/bin/tsc`, ...options, 'use.ts'])
    }
  }
  say(`the declarations of ${name} compile with TypeScript 5.9 and 7, nodenext and bundler`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
