import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

import { ToolError } from '@tenon/build'
import type { CommandResult } from '@tenon/build/internal'
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
const COMPILE = '-c -O2 -g0 -w -fvisibility=hidden -ffunction-sections -fno-lto'.split(' ')

interface ShimUnit {
  readonly headers: string
  readonly functions: readonly ShimFunction[]
  /** The definition of each function after the preprocessor. */
  readonly lines: readonly string[]
}

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

  /** Compiles what can be compiled and linked. @throws {ToolError} if errors do not belong to a function */
  async compile(functions: readonly ShimFunction[]): Promise<void> {
    const flatten = this.#compiler.platform.os === 'win32' ? '' : '__attribute__((flatten)) '
    const { headers, lines } = await expandLines(
      this.#compiler,
      functions.map(({ code }) => `${this.#exported} ${flatten}${code}`),
    )
    const unit = { headers, functions, lines: functions.map((_, index) => lines.get(index) ?? '') }
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const kept = functions.filter(({ symbol }) => !this.#refused.has(symbol))
      const { object, stderr, isCompiled } = await this.#build(unit, new Set(kept))
      if (stderr === '') {
        this.#object = kept.length === 0 ? undefined : object
        return
      }
      let found = isCompiled ? unresolvedFunctions(stderr) : refusedLines(stderr, functions)
      if (found.size === 0 && isCompiled) found = await this.#findUnlinkable(unit, kept)
      if (found.size === 0)
        throw new ToolError(`the shim cannot be ${isCompiled ? 'linked' : 'compiled'}:\n${stderr.slice(0, 2000)}`)
      for (const [symbol, reason] of found) this.#refused.set(symbol, reason)
    }
    throw new ToolError(`the shim has errors after ${MOST_ROUNDS} rounds`)
  }

  /** Compiles some of the functions, and links them. The errors are empty if both have succeeded. */
  async #build(
    { headers, functions, lines }: ShimUnit,
    kept: ReadonlySet<ShimFunction>,
  ): Promise<{ readonly object: string; readonly stderr: string; readonly isCompiled: boolean }> {
    const object = this.#compiler.file('.o')
    const texts = lines.map((line, index) => (kept.has(functions[index]!) ? line : ''))
    const code = `${headers}\n# 1 "${UNIT}"\n${texts.join('\n')}\n`
    const { code: status, stderr } = await this.#compile(code, object)
    if (status !== 0) return { object, stderr: stderr || 'the compiler failed', isCompiled: false }
    return { object, stderr: await this.#link([object], this.#compiler.file('.so')), isCompiled: true }
  }

  /** Finds the functions that cannot be linked by halves, for a linker that does not name them. */
  async #findUnlinkable(unit: ShimUnit, functions: readonly ShimFunction[]): Promise<Map<string, string>> {
    const { stderr } = await this.#build(unit, new Set(functions))
    if (stderr === '') return new Map()
    if (functions.length === 1) {
      const missing = /undefined (?:reference to )?symbol:? _?([^\s`'"]+)|undefined reference to [`'"]([^\s`'"]+)/.exec(
        stderr,
      )
      const name = missing?.[1] ?? missing?.[2]
      return new Map([
        [functions[0]!.symbol, name === undefined ? 'the linker refuses it' : `no library exports ${name}`],
      ])
    }
    const middle = functions.length >> 1
    const halves = [functions.slice(0, middle), functions.slice(middle)]
    const found = await Promise.all(halves.map((half) => this.#findUnlinkable(unit, half)))
    return new Map(found.flatMap((one) => [...one]))
  }

  /**
   * Links the functions to a library that has the hash of its model.
   *
   * @returns its bytes, or undefined if no function is left
   */
  async link(hash: string): Promise<Uint8Array | undefined> {
    if (this.#object === undefined) return undefined
    const object = this.#compiler.file('.o')
    const { code, stderr } = await this.#compile(`${this.#exported} const char ${HASH}[] = "${hash}";\n`, object)
    const library = this.#compiler.file('.so')
    const problem = code === 0 ? await this.#link([this.#object, object], library) : stderr
    if (problem !== '') throw new ToolError(`the shim cannot be linked:\n${problem.slice(0, 2000)}`)
    return new Uint8Array(await readFile(library))
  }

  get #exported(): string {
    return this.#compiler.platform.os === 'win32' ? '__declspec(dllexport)' : '__attribute__((visibility("default")))'
  }

  #compile(code: string, object: string): Promise<CommandResult> {
    const position = this.#compiler.platform.os === 'win32' ? [] : ['-fPIC']
    return this.#compiler.compile(code, [...COMPILE, ...position, this.#compiler.allErrors, '-o', object])
  }

  /** Links objects. The errors are empty if it has succeeded. */
  async #link(objects: readonly string[], output: string): Promise<string> {
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
    return code === 0 ? '' : stderr || 'the linker failed'
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
