import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { cSource } from './c-source.ts'
import type { DirectCore } from './direct-core.ts'
import { RecordReader, RecordWriter } from './records.ts'
import type { Signature } from './types.ts'

/** What a program wrote, and how it ended if it crashed. */
export interface ProgramOutput {
  readonly reader: RecordReader
  readonly ending: string | undefined
}

/** A program with the generated functions of signatures and the core. */
export class DirectProgram {
  readonly core: DirectCore
  readonly signatures: ReadonlyMap<number, Signature>
  readonly #directory: string

  private constructor(core: DirectCore, signatures: ReadonlyMap<number, Signature>, directory: string) {
    this.core = core
    this.signatures = signatures
    this.#directory = directory
  }

  /** The program ends with the core's files. */
  static async build(core: DirectCore, signatures: ReadonlyMap<number, Signature>): Promise<DirectProgram> {
    const directory = await mkdtemp(join(core.directory, 'program-'))
    const program = new DirectProgram(core, signatures, directory)
    const [source, object] = [join(directory, 'functions.c'), join(directory, 'functions.o')]
    await writeFile(source, cSource(signatures))
    await core.toolchain.compile(source, object)
    await core.toolchain.link([...core.objects, object], program.#path)
    return program
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
    const ending = await this.core.toolchain.run(this.#path, [input, output]).then(
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
