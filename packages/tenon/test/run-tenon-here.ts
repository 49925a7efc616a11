import fs, * as exportsOfFs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { main } from '../src/cli/main.ts'
import { runTenon, type Finished } from './run-tenon.ts'

/**
 * Runs `tenon` in this process, which takes a fraction of the time of a new one, for command lines that are refused or that differ only in their
 * flags. The tests of what a command prints, of exit codes and of crashes start the built command, as this does where a runtime does not let
 * functions of `node:fs` be replaced.
 */
export async function runTenonHere(args: readonly string[], cwd: string): Promise<Finished> {
  const { writeSync } = fs
  const before = process.cwd()
  let [stdout, stderr] = ['', '']
  // The command writes to its pipes without the streams of Node.js.
  const collect = (descriptor: number, bytes: Uint8Array, ...rest: []): number => {
    if (descriptor !== 1 && descriptor !== 2) return writeSync(descriptor, bytes, ...rest)
    const text = Buffer.from(bytes).toString()
    if (descriptor === 1) stdout += text
    else stderr += text
    return bytes.length
  }
  fs.writeSync = collect as typeof writeSync
  syncBuiltinESMExports()
  process.chdir(cwd)
  try {
    if (exportsOfFs.writeSync !== fs.writeSync) return runTenon(args, { cwd })
    const code = await main(args)
    return { code, stdout, stderr }
  } finally {
    process.chdir(before)
    fs.writeSync = writeSync
    syncBuiltinESMExports()
  }
}
