import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

import { ToolError } from '@tenon/build'
import type { HeaderCompiler } from '../read/preprocess.ts'
import { expandLines } from './expand-lines.ts'

/** A function of a shim. */
export interface ShimFunction {
  readonly symbol: string
  /** Its definition in C, on one line. */
  readonly code: string
}

/** A library whose functions a shim calls. */
export interface ShimLibrary {
  /** The file that is linked. */
  readonly path: string
  /** Where the module finds the library: a path relative to the module that begins with a dot, or a name that the loader searches. */
  readonly place: string
}

/** The name of the text in a shim by which its module recognizes it. */
const HASH = 'tenon_shim_hash'
const UNIT = 'tenon_shim'
const MOST_ROUNDS = 16
const COMPILE = '-x cpp-output -c -O2 -g0 -w -fvisibility=hidden -ffunction-sections -fno-lto'.split(' ')

/**
 * Compiles the functions that a module has beyond those of its libraries. A function that the compiler or the linker refuses is left out.
 */
export class ShimBuild {
  readonly #compiler: HeaderCompiler
  readonly #libraries: readonly ShimLibrary[]
  readonly #refused = new Map<string, string>()
  #object: string | undefined

  constructor(compiler: HeaderCompiler, libraries: readonly ShimLibrary[]) {
    this.#compiler = compiler
    this.#libraries = libraries
  }

  /** The functions that are not in the shim, by their symbols, with the reasons. */
  get refused(): ReadonlyMap<string, string> {
    return this.#refused
  }

  /** Compiles what can be compiled, and tries to link it. @throws {ToolError} if errors do not belong to a function */
  async compile(functions: readonly ShimFunction[]): Promise<void> {
    const visible =
      this.#compiler.platform.os === 'win32'
        ? '__declspec(dllexport)'
        : '__attribute__((visibility("default"), flatten))'
    const { headers, lines } = await expandLines(
      this.#compiler,
      functions.map(({ code }) => `${visible} ${code}`),
    )
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const kept = functions.map(({ symbol }, index) => (this.#refused.has(symbol) ? '' : (lines.get(index) ?? '')))
      const object = this.#compiler.file('.o')
      const code = `${headers}\n# 1 "${UNIT}"\n${kept.join('\n')}\n`
      const compiled = await this.#compiler.run(
        code,
        [...COMPILE, ...this.#position, this.#compiler.allErrors, '-o', object],
        '.i',
      )
      const failed = compiled.code !== 0
      const { stderr } = failed ? compiled : await this.#link([object], this.#compiler.file('.so'))
      if (!failed && stderr === '') {
        this.#object = kept.every((line) => line === '') ? undefined : object
        return
      }
      const found = failed ? refusedLines(stderr, functions) : unresolvedFunctions(stderr)
      if (found.size === 0)
        throw new ToolError(`the shim cannot be ${failed ? 'compiled' : 'linked'}:\n${stderr.slice(0, 2000)}`)
      for (const [symbol, reason] of found) this.#refused.set(symbol, reason)
    }
    throw new ToolError(`the shim has errors after ${MOST_ROUNDS} rounds`)
  }

  /**
   * Links the functions to a library that has the hash of its model.
   *
   * @returns its bytes, or undefined if no function is left
   */
  async link(hash: string): Promise<Uint8Array | undefined> {
    if (this.#object === undefined) return undefined
    const visible =
      this.#compiler.platform.os === 'win32' ? '__declspec(dllexport)' : '__attribute__((visibility("default")))'
    const object = this.#compiler.file('.o')
    const code = `${visible} const char ${HASH}[] = "${hash}";\n`
    const { code: status, stderr } = await this.#compiler.run(code, [...COMPILE, ...this.#position, '-o', object], '.i')
    const library = this.#compiler.file('.so')
    const problem = status === 0 ? (await this.#link([this.#object, object], library)).stderr : stderr
    if (problem !== '') throw new ToolError(`the shim cannot be linked:\n${problem.slice(0, 2000)}`)
    return new Uint8Array(await readFile(library))
  }

  get #position(): string[] {
    return this.#compiler.platform.os === 'win32' ? [] : ['-fPIC']
  }

  /** Links objects. The errors are empty if it has succeeded. */
  async #link(objects: readonly string[], output: string): Promise<{ readonly stderr: string }> {
    const libraries = this.#libraries.flatMap(({ path, place }) => [
      // By its name, so that the library of the module is found again and not a path of this machine.
      ...(this.#compiler.isElf ? ['-L', dirname(path), `-l:${basename(path)}`] : [path]),
      ...(place.startsWith('.') && this.#compiler.isElf ? [`-Wl,-rpath,$ORIGIN/${dirname(place)}`] : []),
    ])
    const strict = this.#compiler.isElf ? ['-Wl,-z,defs', '-Wl,--gc-sections'] : []
    const { code, stderr } = await this.#compiler.link([
      '-shared',
      '-o',
      output,
      ...objects,
      ...libraries,
      ...strict,
      '-lm',
    ])
    return { stderr: code === 0 ? '' : stderr || 'the linker failed' }
  }
}

function refusedLines(stderr: string, functions: readonly ShimFunction[]): Map<string, string> {
  const refused = new Map<string, string>()
  for (const [, line, message = ''] of stderr.matchAll(/^tenon_shim:(\d+):(?:\d+:)? (?:fatal )?error: (.*)$/gm)) {
    const symbol = functions[Number(line) - 1]?.symbol
    if (symbol !== undefined && !refused.has(symbol)) refused.set(symbol, message)
  }
  return refused
}

/** Reads the errors of GNU ld, which names the section of each reference, and of lld, which names the functions after each symbol. */
function unresolvedFunctions(stderr: string): Map<string, string> {
  const refused = new Map<string, string>()
  for (const [, symbol, missing] of stderr.matchAll(/(tenon_shim_\w+)[^\n]*undefined reference to [`'"]([^`'"]+)/g))
    refused.set(symbol!, `no library exports ${missing}`)
  for (const [block, missing] of stderr.matchAll(/undefined symbol: (\S+)\n(?:>>>.*\n?)+/g))
    for (const [, symbol] of block.matchAll(/\((?:\.text\.)?(tenon_shim_\w+)/g))
      refused.set(symbol!, `no library exports ${missing}`)
  return refused
}
