import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { constants, Script } from 'node:vm'

declare const PACKAGE_VERSION: string

/** A CommonJS file that is running. */
export interface RunningProgram<Exports> {
  readonly exports: Exports
  /** Keeps the compiled code of the functions that have run, unless this process has found such code. */
  keepCode(): void
}

/**
 * Runs a CommonJS file with the compiled code that an earlier process has kept. The compile cache of Node.js does not have the
 * functions that a program compiles when it first calls them, and those take a quarter of the time of a call.
 *
 * @param directory where compiled code is kept, to which nobody else can write; undefined to keep none
 */
export function runProgram<Exports>(file: string, directory: string | undefined): RunningProgram<Exports> {
  const source = fs.readFileSync(file)
  // Bun and Deno have the versions of a Node.js.
  const engine = `${basename(process.execPath)}-${process.version}-${process.versions.v8}-${process.arch}`
  const name = `${basename(file)}-${PACKAGE_VERSION}-${engine}`
  const cache = directory === undefined ? undefined : join(directory, name)
  const cachedData = cache === undefined ? undefined : readCode(cache, source)
  // The build writes only ASCII.
  const script = new Script(`(function (exports, require, module, __dirname) {${source.toString('latin1')}\n})`, {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const run = script.runInThisContext() as (...values: unknown[]) => void
  const module = { exports: {} as Exports }
  run(module.exports, createRequire(file), module, __dirname)
  return {
    exports: module.exports,
    keepCode() {
      const isFound = cachedData !== undefined && script.cachedDataRejected === false
      if (cache !== undefined && !isFound) writeCode(cache, source, script.createCachedData())
    },
  }
}

/**
 * Reads code that {@link writeCode} has written for the same source. The engine runs damaged code as it is, so the code is in the
 * file twice, and the source once: comparing them takes less time than loading a module with checksums, which is 5 ms.
 */
function readCode(cache: string, source: Buffer): Buffer | undefined {
  let bytes: Buffer
  try {
    bytes = fs.readFileSync(cache)
  } catch {
    return undefined
  }
  const size = (bytes.length - source.length) / 2
  const [code, copy] = [bytes.subarray(0, size), bytes.subarray(size, 2 * size)]
  const isIntact = size > 0 && code.equals(copy) && bytes.subarray(2 * size).equals(source)
  return isIntact ? code : undefined
}

/** Replaces the file as a whole, so that other processes read the old code or the new. */
function writeCode(cache: string, source: Buffer, code: Buffer): void {
  const written = `${cache}.${process.pid}`
  try {
    fs.writeFileSync(written, Buffer.concat([code, code, source]), { flag: 'wx', mode: 0o600, flush: true })
    fs.renameSync(written, cache)
  } catch {
    // The disk is full, or the directory is read-only.
    fs.rmSync(written, { force: true })
  }
}
