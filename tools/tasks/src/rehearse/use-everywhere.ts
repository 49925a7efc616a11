import { findNode } from '@tenon/config/node-versions'
import { ToolError } from '@tenon/build'

import { type PackageManager, packageManagers } from './package-managers.ts'
import type { Rehearsal, Sandbox } from './rehearsal.ts'

/** The end of the output of every program, by which its run is recognised. */
const usedText = 'the package was used\n'

/** A program that uses a package, in which `equal` compares values. */
export const usingProgram = (imports: string, body: string): string => `${imports}
const equal = (got, expected) => {
  if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(JSON.stringify(got))
}
${body}
console.log(${JSON.stringify(usedText.trim())})
`

/**
 * Installs packages with each package manager on each version of Node.js, uses each, and tries what is left out of an installation. Prints
 * a row for each version, and sets the exit code 1 if anything fails.
 *
 * @param nodes the major versions of Node.js, separated by commas
 * @param programs a program for each package that is installed @param more further packages that the programs import
 */
export async function useEverywhere(
  { sandbox, registry }: Rehearsal,
  nodes: string,
  programs: Readonly<Record<string, string>>,
  leftOut: readonly LeftOut[],
  more: readonly string[] = [],
): Promise<void> {
  const failures: string[] = []
  const count = Object.keys(programs).length
  for (const major of nodes.split(',')) {
    const row: string[] = []
    for (const manager of packageManagers) {
      const found = await usePackages(sandbox(findNode(major)), manager, registry, programs, more)
      row.push(`${manager.name} ${count - found.length}`)
      failures.push(...found.map((failure) => `${manager.name} on Node.js ${major}: ${failure}`))
    }
    process.stdout.write(`Node.js ${major}: ${row.join(', ')}\n`)
  }
  for (const one of leftOut)
    failures.push(...(await findOmitted(sandbox(), one)), ...(await findForeignLibc(sandbox(), one.package)))
  const total = nodes.split(',').length * packageManagers.length * count + 2 * leftOut.length
  for (const failure of failures) process.stdout.write(`${failure}\n`)
  process.stdout.write(`${total - failures.length} of ${total}\n`)
  if (failures.length > 0) process.exitCode = 1
}

/** The import and the call of a package that fail without optional dependencies. */
interface LeftOut {
  readonly package: string
  readonly imports: string
  readonly call: string
  readonly error: RegExp
}

/** @returns why packages could not be used */
async function usePackages(
  { write, run }: Sandbox,
  manager: PackageManager,
  registry: string,
  programs: Readonly<Record<string, string>>,
  more: readonly string[],
): Promise<string[]> {
  const names = Object.keys(programs)
  write({
    'package.json': '{ "name": "user", "type": "module", "private": true }',
    ...Object.fromEntries(names.map((name, i) => [`use-${i}.mjs`, programs[name]!])),
    ...manager.files(registry),
  })
  const installed = await output(() => run(manager.add([...names, ...more])))
  if (!installed.isDone) return names.map((name) => `${name} was not installed: ${installed.text}`)
  if (/ignored build scripts/i.test(installed.text)) return names.map((name) => `${name}: a script was ignored`)
  const failures: string[] = []
  for (const [i, name] of names.entries()) {
    const { text } = await output(() => run(manager.run(`use-${i}.mjs`)))
    if (!text.endsWith(usedText)) failures.push(`${name}: ${text}`)
  }
  return failures
}

async function output(
  run: () => ReturnType<Sandbox['run']>,
): Promise<{ readonly isDone: boolean; readonly text: string }> {
  try {
    const { stdout, stderr } = await run()
    return { isDone: true, text: stderr + stdout }
  } catch (error) {
    if (error instanceof ToolError) return { isDone: false, text: error.message }
    throw error
  }
}

/** @returns why a program does not get the documented error without optional dependencies */
async function findOmitted(
  { write, run }: Sandbox,
  { package: name, imports, call, error }: LeftOut,
): Promise<string[]> {
  write({
    'package.json': '{ "type": "module", "private": true }',
    'use.mjs': `${imports}\ntry { ${call} } catch (error) { console.log(error.code, error.message) }\n`,
  })
  await run(['npm', 'install', name, 'tenon', '--omit=optional'])
  const { stdout, stderr } = await run(['node', 'use.mjs'])
  return error.test(stdout)
    ? []
    : [`npm install --omit=optional: a program must say what is missing, got:\n${stdout}${stderr}`]
}

/** @returns which packages for glibc are installed for another C library */
async function findForeignLibc({ write, run }: Sandbox, name: string): Promise<string[]> {
  write({ 'package.json': '{ "private": true }' })
  await run(['npm', 'install', name, '--os=linux', '--libc=musl'])
  const { stdout } = await run(['find', 'node_modules', '-maxdepth', '2', '-name', '*-gnu'])
  return stdout === '' ? [] : [`npm install --libc=musl installed ${stdout}`]
}
