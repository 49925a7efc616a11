import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { findNode } from '@tenon/config/node-versions'

import { type Model, writeModule } from '../src/index.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const STRICT =
  '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false --module nodenext --target esnext --types node'

/** The modules of many headers, in a directory in which they find their run time. */
export class Modules {
  readonly #directory = mkdtempSync(join(tmpdir(), 'tenon-modules-'))
  readonly #names: string[] = []

  constructor() {
    const packages = join(this.#directory, 'node_modules/@tenon')
    mkdirSync(packages, { recursive: true })
    symlinkSync(join(repository, 'packages/scope'), join(packages, 'scope'))
    symlinkSync(join(repository, 'node_modules/@types'), join(this.#directory, 'node_modules/@types'))
    writeFileSync(join(this.#directory, 'package.json'), '{ "type": "module" }\n')
  }

  /** How many modules there are. */
  get count(): number {
    return this.#names.length
  }

  /** Writes the module of a model. */
  write(name: string, model: Model): void {
    const { code, declarations } = writeModule(model, { libraries: [] })
    mkdirSync(join(this.#directory, name))
    writeFileSync(join(this.#directory, name, 'index.js'), code)
    writeFileSync(join(this.#directory, name, 'index.d.ts'), declarations)
    this.#names.push(name)
  }

  /** @throws {Error} with the first errors of the strict compiler. @param compiler the path of a `tsc` */
  checkTypes(compiler: string): void {
    const files = this.#names.map((name) => `${name}/index.d.ts`)
    this.#run(process.execPath, [compiler, ...STRICT.split(' '), ...files])
  }

  /** Imports all modules, and returns the number of their exports. @param major a version of Node.js */
  import(major: string): number {
    const program = `let count = 0
      for (const name of ${JSON.stringify(this.#names)}) {
        const exports = Object.keys(await import('./' + name + '/index.js'))
        if (!exports.includes('library')) throw new Error(name + ' has no library')
        count += exports.length
      }
      console.log(count)`
    const path = join(this.#directory, 'import.js')
    writeFileSync(path, program)
    return Number(this.#run(findNode(major), [path]))
  }

  close(): void {
    rmSync(this.#directory, { recursive: true })
  }

  #run(command: string, args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: this.#directory,
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    })
    if (status !== 0) throw new Error(`${command} ${args[0]}:\n${(stdout + stderr).slice(0, 3000)}`)
    return stdout
  }
}

/** @throws {Error} that begins with a text and has the first lines that differ, if two models do not give the same module */
export function expectSameModule(model: Model, other: Model, problem: string): void {
  const [expected, actual] = [model, other].map((one) => {
    const { code, declarations } = writeModule(one, { libraries: [] })
    return `${code}\n${declarations}`
  }) as [string, string]
  if (expected === actual) return
  const [before, after] = [expected, actual].map((text) => new Set(text.split('\n'))) as [Set<string>, Set<string>]
  const lines = [
    ...[...before].filter((line) => !after.has(line)).map((line) => `- ${line}`),
    ...[...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`),
  ]
  throw new Error(`${problem}:\n${lines.slice(0, 10).join('\n')}`)
}
