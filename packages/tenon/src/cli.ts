#!/usr/bin/env node
// The build makes a CommonJS file of this one, because the loader of ES modules takes 2 ms. It makes the files below as well.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import type * as call from './cli/call.ts'
import type * as main from './cli/main.ts'
import { ownCacheDirectory } from './cli/cache-directory.ts'
import { runProgram } from './cli/run-program.ts'
import { wantsHelp } from './cli/wants-help.ts'

const directory = ownCacheDirectory(process.env)
const [name, ...rest] = process.argv.slice(2)
if (name === 'call' && !rest.includes('--isolate')) {
  // A call starts from one file, because the kernel is often faster than the loading of many modules.
  const program = runProgram<typeof call>(join(__dirname, 'cli/call.cjs'), directory)
  const code = program.exports.runCall(rest)
  // The help needs few of the functions that a call needs.
  if (code === 0 && !wantsHelp(rest)) program.keepCode()
  // Everything is printed and closed, so the process need not free its memory.
  process.exit(code)
} else {
  // Deno has no such cache.
  if (directory !== undefined) enableCompileCache?.(directory)
  void runMain()
}

async function runMain(): Promise<void> {
  const program = (await import('./cli/main.js')) as typeof main
  process.exitCode = await program.main(process.argv.slice(2))
}
