import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Abi } from '../../src/native/call/call-plan.ts'
import { cSource } from './c-source.ts'
import { RecordReader, RecordWriter } from './records.ts'
import { type CompilerName, coreSourcesOf, type Toolchain, toolchainOf } from './toolchains.ts'
import type { Signature } from './types.ts'

/** What a program wrote, and how it ended if it crashed. */
export interface ProgramOutput {
  readonly reader: RecordReader
  readonly ending: string | undefined
}

/** A program with the generated functions of signatures, the core's assembly of a calling convention, and `runner.c`. */
export class DirectProgram {
  readonly abi: Abi
  readonly compiler: CompilerName
  readonly signatures: ReadonlyMap<number, Signature>
  readonly #toolchain: Toolchain
  readonly #directory: string

  private constructor(
    abi: Abi,
    compiler: CompilerName,
    signatures: ReadonlyMap<number, Signature>,
    toolchain: Toolchain,
    directory: string,
  ) {
    this.abi = abi
    this.compiler = compiler
    this.signatures = signatures
    this.#toolchain = toolchain
    this.#directory = directory
  }

  static async build(
    abi: Abi,
    compiler: CompilerName,
    signatures: ReadonlyMap<number, Signature>,
  ): Promise<DirectProgram> {
    const toolchain = toolchainOf(abi, compiler)
    const directory = await mkdtemp(join(tmpdir(), 'tenon-door-'))
    const program = new DirectProgram(abi, compiler, signatures, toolchain, directory)
    try {
      const [source, object] = [join(directory, 'functions.c'), join(directory, 'functions.o')]
      await writeFile(source, cSource(signatures))
      await toolchain.compile(source, object)
      const include = `-I${join(import.meta.dirname, '../../csrc/include')}`
      const inputs = [include, join(import.meta.dirname, 'runner.c'), ...coreSourcesOf(abi), object]
      await toolchain.link(inputs, program.#path)
      return program
    } catch (error) {
      await program.close()
      throw error
    }
  }

  get #path(): string {
    return join(this.#directory, 'program.exe')
  }

  /** Runs the program with `count` records. */
  async run(count: number, records: RecordWriter): Promise<ProgramOutput> {
    const [input, output] = [join(this.#directory, 'records'), join(this.#directory, 'output')]
    const header = new RecordWriter()
    header.numbers(count)
    await writeFile(input, Buffer.concat([header.finish(), records.finish()]))
    await rm(output, { force: true })
    const ending = await this.#toolchain.run(this.#path, [input, output]).then(
      () => undefined,
      (error: Error & { code?: unknown; signal?: unknown }) =>
        String(error.signal ?? `exit code ${String(error.code)}`),
    )
    return { reader: new RecordReader(await readFile(output).catch(() => Buffer.alloc(0))), ending }
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
  }
}
