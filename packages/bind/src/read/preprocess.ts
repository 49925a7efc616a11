import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

import type { Platform } from '@tenon/build'
import { type Compiler, type CommandResult, runCommand } from '@tenon/build/internal'
import { CompilerError } from '../bind-error.ts'
import { withCharacters } from './c-names.ts'

/** How much the preprocessor may print, in bytes. */
const MOST_OUTPUT = 256 << 20

/** The file name of declarations that do not come from a header. */
export const DECLARATIONS = 'tenon_declarations'

/** The compiler of a set of headers, and its options. */
export interface CompilerOptions {
  readonly compiler: Compiler
  readonly platform: Platform
  /** Flags for the preprocessor: `-I`, `-isystem`, `-D`, `-U`, `-include` and `-std`. */
  readonly flags: readonly string[]
  /** C code behind the headers, on one line. */
  readonly declarations: string
  /** How long one run of the compiler may take, in milliseconds. */
  readonly timeout: number
}

/** The compiler with the flags for one set of headers, and a directory for its files that {@link close} removes. */
export class HeaderCompiler {
  /** C code that includes the headers. */
  readonly includes: string
  /** The platform for which it compiles. */
  readonly platform: Platform
  readonly #compiler: Compiler
  readonly #flags: readonly string[]
  readonly #directory: string
  readonly #timeout: number
  #files = 0

  private constructor(options: CompilerOptions, includes: string, directory: string) {
    const { compiler, platform, flags, timeout } = options
    this.#compiler = compiler
    this.platform = platform
    this.#flags = flags
    this.#timeout = timeout
    this.includes = includes
    this.#directory = directory
  }

  /** @param headers paths, or names that the compiler searches as `#include <name>` does. */
  static async open(headers: readonly string[], options: CompilerOptions): Promise<HeaderCompiler> {
    const { declarations } = options
    const includes = headers
      .map((header) => `#include ${header.startsWith('<') ? header : JSON.stringify(header)}\n`)
      .join('')
    const unit = declarations === '' ? includes : `${includes}#line 1 "${DECLARATIONS}"\n${declarations}\n`
    return new HeaderCompiler(options, unit, await mkdtemp(join(tmpdir(), 'tenon-bind-')))
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
  }

  /** Whether its libraries are ELF files. */
  get isElf(): boolean {
    return this.platform.os !== 'darwin' && this.platform.os !== 'win32'
  }

  get #isZig(): boolean {
    const { command, identity } = this.#compiler
    return identity.startsWith('zig ') || /^zig(?:\.exe)?$/.test(basename(command))
  }

  /** zig defines `_DEBUG` unless it optimizes, and then `NDEBUG`. Other compilers define neither. */
  get #ownFlags(): readonly string[] {
    return this.#isZig ? ['-U_DEBUG'] : []
  }

  /** The flag that makes the compiler report all errors, of which it would stop after 20 with clang. */
  get allErrors(): string {
    return /\b(?:clang|zig)\b/i.test(this.#compiler.identity) ? '-ferror-limit=0' : '-fmax-errors=0'
  }

  /** A path for a file of the compiler, which does not exist yet. */
  file(extension: string): string {
    this.#files++
    return join(this.#directory, `${this.#files}${extension}`)
  }

  /** Runs the compiler on C code. The exit code of a failed run is not an error here, because questions to the compiler may fail. */
  async run(code: string, args: readonly string[]): Promise<CommandResult> {
    return this.#run(code, [...this.#ownFlags, ...this.#flags, ...args], '.c')
  }

  /** Compiles what the preprocessor has written. */
  async compile(code: string, args: readonly string[]): Promise<CommandResult> {
    // zig knows no preprocessed C. What has no macros is the same C for it.
    return this.#isZig ? this.#run(code, args, '.c') : this.#run(code, ['-x', 'cpp-output', ...args], '.i')
  }

  async #run(code: string, args: readonly string[], extension: string): Promise<CommandResult> {
    const path = this.file(extension)
    await writeFile(path, code)
    return this.#start([...args, path], this.#timeout)
  }

  /**
   * Runs the compiler to link objects. It has more time than for a header, because zig compiles the C library of a platform when it first
   * links for it. @throws {CompilerError} if it does not end in time
   */
  async link(args: readonly string[]): Promise<CommandResult> {
    return this.#start(args, 15 * this.#timeout)
  }

  async #start(args: readonly string[], timeout: number): Promise<CommandResult> {
    const result = await runCommand(this.#compiler.command, [...this.#compiler.args, ...args], {
      env: { ...process.env, LC_ALL: 'C' },
      timeout,
      outputLimit: MOST_OUTPUT,
    })
    if (result.exceeded === undefined) return result
    const limit = result.exceeded === 'time' ? `${timeout / 1000} s` : `${MOST_OUTPUT >> 20} MiB of output`
    throw new CompilerError(`the compiler did not end within ${limit}: a macro of the headers may expand without end`)
  }

  /** Compiles the headers alone. @throws {CompilerError} with the errors of the compiler */
  async check(): Promise<void> {
    // zig links what is not to be an object.
    const output = this.#isZig ? ['-c', '-o', this.file('.o')] : ['-fsyntax-only']
    const { code, stderr } = await this.run(this.includes, [...output, '-w'])
    if (code !== 0) throw new CompilerError(stderr)
  }

  /** The output of the preprocessor, with line markers. `-dD` keeps the definitions of macros. @throws {CompilerError} with its errors */
  async preprocess(code: string, args: readonly string[] = []): Promise<string> {
    const { code: status, stdout, stderr } = await this.run(code, ['-E', '-w', ...args])
    if (status !== 0) throw new CompilerError(stderr)
    return withCharacters(stdout)
  }
}
