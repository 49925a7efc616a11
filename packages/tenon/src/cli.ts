#!/usr/bin/env node
// The build makes a CommonJS file of this one, because the loader of ES modules takes 2 ms. It makes the files below as well.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { ownCacheDirectory } from './cli/cache-directory.ts'
import { runProgram } from './cli/run-program.ts'
import { wantsHelp } from './cli/wants-help.ts'

const directory = ownCacheDirectory(process.env)
const [name, ...rest] = process.argv.slice(2)
if (name === 'call' && !rest.includes('--isolate')) {
  // A call starts from one file, because the kernel is often faster than the loading of many modules.
  const program = runProgram<typeof import('./cli/call.ts')>(join(__dirname, 'cli/call.cjs'), directory)
  const code = program.exports.runCall(rest)
  // The help needs few of the functions that a call needs.
  if (code === 0 && !wantsHelp(rest)) program.keepCode()
  // Everything is printed and closed, so the process need not free its memory.
  process.exit(code)
} else {
  if (directory !== undefined) enableCompileCache(directory)
  void runMain()
}

async function runMain(): Promise<void> {
  const { main } = (await import('./cli/main.js')) as typeof import('./cli/main.ts')
  process.exitCode = await main(process.argv.slice(2))
}
