/** Calls a kernel of libfaulty in a folder of its own. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Library, tensor, TenonError, type IsolateOptions } from 'tenon'

export interface FaultyCall {
  readonly library: string
  readonly fault: number
  readonly options: IsolateOptions
  /** What is called `core` in the folder before the call. */
  readonly before?: 'folder' | 'old file'
}

export interface FaultyReport {
  readonly name: string
  readonly output: string
  /** The name of the file in the details of the error. */
  readonly coreFile?: string
  /** The first four bytes of this file. */
  readonly magic?: string
  readonly files: readonly string[]
}

export async function main({ library, fault, options, before }: FaultyCall): Promise<FaultyReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-core-'))
  try {
    process.chdir(folder)
    if (before === 'folder') mkdirSync('core')
    if (before === 'old file') {
      writeFileSync('core', 'of another crash')
      utimesSync('core', 1, 1)
    }
    const isolated = await Library.isolate(library, options)
    // Scripts run without a compiler, and Node.js 22 does not have `await using`.
    const error = await errorOf(() => isolated.kernel('faulty')(tensor([1, 2, 3]), { fault })).finally(() =>
      isolated.closeAsync(),
    )
    const files = readdirSync('.')
    if (error === undefined) return { name: 'none', output: '', files }
    const { output, coreFile } = error.details as { output: string; coreFile?: string }
    if (coreFile === undefined) return { name: error.name, output, files }
    if (dirname(coreFile) !== process.cwd()) throw new Error(`${coreFile} is not in ${process.cwd()}`)
    const magic = readFileSync(coreFile).toString('latin1', 0, 4)
    return { name: error.name, output, coreFile: basename(coreFile), magic, files }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function errorOf(call: () => unknown): Promise<TenonError | undefined> {
  try {
    call()
    return undefined
  } catch (error) {
    if (error instanceof TenonError) return error
    throw error
  }
}
