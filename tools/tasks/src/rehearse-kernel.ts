/**
 * The command `pnpm rehearse:kernel [--node 22,24,26] [--packages DIRECTORY]`, which goes from an empty folder to an installed package as a user would: it
 * publishes Tenon's packages to a registry on this machine, makes a package of kernels with `tenon new`, builds, tests, packs and
 * publishes it there, checks its declarations with two versions of TypeScript, and calls it in new projects of npm, pnpm and Yarn on each
 * tested version of Node.js. Tenon's packages are the tarballs of the folder, or are packed for this machine. Needs a C compiler and npm's
 * registry.
 */
import { parseArgs } from 'node:util'

import { findNode, testedNodes } from '@tenon/config/node-versions'
import { runMain, ToolError } from '@tenon/build'

import { build } from './lib/turbo.ts'
import { type PackageManager, packageManagers } from './rehearse/package-managers.ts'
import type { Sandbox } from './rehearse/sandbox.ts'
import { type Rehearsal, withPackages } from './rehearse/with-packages.ts'

const NAME = 'my-kernels'

const smoke = `import { tensor } from 'tenon'
import { silu } from '${NAME}'
const expected = [0, 1 / (1 + Math.exp(-1))]
const check = (y) => {
  if (!y.toArray().every((value, i) => Math.abs(value - expected[i]) < 1e-6)) throw new Error(String(y.toArray()))
}
check(silu(tensor('f32', [2], [0, 1])))
check(await silu.async(tensor('f32', [2], [0, 1]), { beta: 1 }))
console.log('the kernel was called')
`

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
  const nodes = values.node.split(',').map((major) => ({ major, path: findNode(major) }))
  if (values.packages === undefined) await build()
  const rehearse = async (rehearsal: Rehearsal): Promise<void> => {
    const { sandbox } = rehearsal
    say('published the packages of Tenon')
    await publishKernels(sandbox())
    await checkTypes(sandbox())
    await checkLeftOut(sandbox(), sandbox())
    process.exitCode = await callEverywhere(rehearsal, nodes)
  }
  await withPackages(values.packages, rehearse, [NAME, `${NAME}-*`])
})

/** The way of a new user, by the commands of the documentation. */
async function publishKernels({ run }: Sandbox): Promise<void> {
  const started = performance.now()
  await run(['npx', '--yes', '-p', 'tenon', '-p', '@tenon/build', 'tenon', 'new', 'kernel', NAME])
  for (const command of [
    ['npm', 'install'],
    ['npx', 'tenon', 'build'],
    ['npx', 'tenon', 'test'],
    ['npx', 'tenon', 'pack'],
    ['npx', 'tenon', 'publish', '--dry-run'],
    ['npx', 'tenon', 'publish'],
  ]) {
    await run(command, NAME)
  }
  // A second run publishes nothing.
  const { stderr } = await run(['npx', 'tenon', 'publish'], NAME)
  if (!stderr.includes(`${NAME}@0.1.0 is published already`)) throw new ToolError(`published again:\n${stderr}`)
  say(`made, tested and published ${NAME} in ${((performance.now() - started) / 1000).toFixed(0)} s`)
}

/** Checks a program that uses the package, and the declarations of the package, with the strictest settings. */
async function checkTypes({ run, write }: Sandbox): Promise<void> {
  write({ 'package.json': '{ "type": "module", "private": true }', 'use.ts': typed })
  await run([
    'npm',
    'install',
    NAME,
    'tenon',
    '@types/node@22',
    'typescript-5@npm:typescript@5.9',
    'typescript-7@npm:typescript@7',
  ])
  const strict = '--noEmit --strict --exactOptionalPropertyTypes --target es2024 --types node --skipLibCheck false'
  for (const compiler of ['typescript-5', 'typescript-7']) {
    for (const module of ['--module nodenext', '--module esnext --moduleResolution bundler']) {
      const options = [...strict.split(' '), ...module.split(' ')]
      await run(['node', `node_modules/${compiler}/bin/tsc`, ...options, 'use.ts'])
    }
  }
  say('the declarations compile with TypeScript 5.9 and 7, nodenext and bundler')
}

/** Checks what happens if npm leaves out optional dependencies, and which packages it leaves out for another C library. */
async function checkLeftOut(omitted: Sandbox, musl: Sandbox): Promise<void> {
  omitted.write({
    'package.json': '{ "type": "module", "private": true }',
    'call.mjs': `import { silu } from '${NAME}'\ntry { silu() } catch (error) { console.log(error.code, error.message) }\n`,
  })
  await omitted.run(['npm', 'install', NAME, 'tenon', '--omit=optional'])
  const { stdout, stderr } = await omitted.run(['node', 'call.mjs'])
  if (!stdout.startsWith(`TENON_LOAD no platform package of ${NAME} is installed`)) {
    throw new ToolError(`without optional dependencies, a call must say so, got:\n${stdout}${stderr}`)
  }
  musl.write({ 'package.json': '{ "private": true }' })
  await musl.run(['npm', 'install', NAME, '--os=linux', '--libc=musl'])
  const { stdout: installed } = await musl.run(['ls', 'node_modules'])
  if (installed.includes('-gnu')) throw new ToolError(`npm installed a package for glibc on musl:\n${installed}`)
  say('a call without optional dependencies names them, and packages for glibc are not installed on musl')
}

/** Installs the package and calls it, and prints a row for each version of Node.js. @returns the exit code */
async function callEverywhere(
  { sandbox, registry }: Rehearsal,
  nodes: readonly { readonly major: string; readonly path: string }[],
): Promise<number> {
  const failures: string[] = []
  for (const { major, path } of nodes) {
    const row: string[] = []
    for (const manager of packageManagers) {
      const failure = await callOnce(sandbox(path), manager, registry)
      row.push(`${manager.name} ${failure === undefined ? 'ok' : 'failed'}`)
      if (failure !== undefined) failures.push(`${manager.name} on Node.js ${major}: ${failure}`)
    }
    say(`Node.js ${major}: ${row.join(', ')}`)
  }
  const count = nodes.length * packageManagers.length
  for (const failure of failures) say(failure)
  say(`${count - failures.length} of ${count}`)
  return failures.length === 0 ? 0 : 1
}

/** @returns why the package could not be installed or called */
async function callOnce(
  { run, write }: Sandbox,
  { files, add, run: runScript }: PackageManager,
  registry: string,
): Promise<string | undefined> {
  write({
    'package.json': '{ "name": "user", "type": "module", "private": true }',
    'smoke.mjs': smoke,
    ...files(registry),
  })
  try {
    const { stdout, stderr } = await run(add([NAME, 'tenon']))
    if (/ignored build scripts/i.test(stdout + stderr)) return `a script was ignored:\n${stdout}${stderr}`
    const called = await run(runScript('smoke.mjs'))
    return called.stdout === 'the kernel was called\n' ? undefined : called.stdout + called.stderr
  } catch (error) {
    if (error instanceof ToolError) return error.message
    throw error
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
