/**
 * The command `pnpm rehearse:kernel [--node 22,24,26] [--packages DIRECTORY]`, which goes from an empty folder to an installed package as a user would: it
 * publishes Tenon's packages to a registry on this machine, makes a package of kernels with `tenon new`, builds, tests, packs and
 * publishes it there, checks its declarations with two versions of TypeScript, and calls it in new projects of npm, pnpm and Yarn on each
 * tested version of Node.js. Tenon's packages are the tarballs of the folder, or are packed for this machine. Needs a C compiler and npm's
 * registry.
 */
import { parseArgs } from 'node:util'

import { testedNodes } from '@tenon/config/node-versions'
import { runMain, ToolError } from '@tenon/build'

import { build } from './lib/turbo.ts'
import { rehearse, type Sandbox } from './rehearse/rehearsal.ts'
import { useEverywhere, usingProgram } from './rehearse/use-everywhere.ts'

const NAME = 'my-kernels'

const program = usingProgram(
  `import { tensor } from 'tenon'
import { silu } from '${NAME}'`,
  `const rounded = (y) => y.toArray().map((value) => Math.round(value * 1e6))
equal(rounded(silu(tensor('f32', [2], [0, 1]))), [0, 731059])
equal(rounded(await silu.async(tensor('f32', [2], [0, 1]), { beta: 1 })), [0, 731059])`,
)

const typed = `import { tensor, type Tensor } from 'tenon'
import { silu } from '${NAME}'
export const y: Tensor<'float32'> = silu(tensor('f32', [2]), { beta: 1 })
// @ts-expect-error: the operand must have elements of type f32
silu(tensor('s32', [2]))
// @ts-expect-error: the attribute is a number
silu(tensor('f32', [2]), { beta: 'x' })
`

await runMain(async () => {
  const { values } = parseArgs({
    options: { node: { type: 'string', default: testedNodes.join(',') }, packages: { type: 'string' } },
  })
  if (values.packages === undefined) await build()
  await rehearse(
    values.packages,
    async (rehearsal) => {
      say('published the packages of Tenon')
      await publishKernels(rehearsal.sandbox())
      await checkTypes(rehearsal.sandbox())
      await useEverywhere(
        rehearsal,
        values.node,
        { [NAME]: program },
        {
          package: NAME,
          imports: `import { silu } from '${NAME}'`,
          call: 'silu()',
          error: new RegExp(`^TENON_LOAD no platform package of ${NAME} is installed`),
        },
      )
    },
    [NAME, `${NAME}-*`],
  )
})

/** The way of a new user, by the commands of the documentation. */
async function publishKernels({ run }: Sandbox): Promise<void> {
  const started = performance.now()
  await run(['npx', '--yes', '-p', 'tenon', '-p', '@tenon/build', 'tenon', 'new', 'kernel', NAME])
  await run(['npm', 'install'], NAME)
  for (const command of ['build', 'test', 'pack', 'publish --dry-run', 'publish'])
    await run(['npx', 'tenon', ...command.split(' ')], NAME)
  // A second run publishes nothing.
  const { stderr } = await run(['npx', 'tenon', 'publish'], NAME)
  if (!stderr.includes(`${NAME}@0.1.0 is published already`)) throw new ToolError(`published again:\n${stderr}`)
  say(`made, tested and published ${NAME} in ${((performance.now() - started) / 1000).toFixed(0)} s`)
}

/** Checks a program that uses the package, and the declarations of the package, with the strictest settings. */
async function checkTypes({ run, write }: Sandbox): Promise<void> {
  write({ 'package.json': '{ "type": "module", "private": true }', 'use.ts': typed })
  const compilers = ['typescript-5@npm:typescript@5.9', 'typescript-7@npm:typescript@7']
  await run(['npm', 'install', NAME, 'tenon', '@types/node@22', ...compilers])
  const strict = '--noEmit --strict --exactOptionalPropertyTypes --target es2024 --types node --skipLibCheck false'
  for (const compiler of ['typescript-5', 'typescript-7']) {
    for (const module of ['--module nodenext', '--module esnext --moduleResolution bundler']) {
      const options = [...strict.split(' '), ...module.split(' ')]
      await run(['node', `node_modules/${compiler}/bin/tsc`, ...options, 'use.ts'])
    }
  }
  say('the declarations compile with TypeScript 5.9 and 7, nodenext and bundler')
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
