#!/usr/bin/env node
import { createRequire } from 'node:module'
import { keepCompiledCode } from './cli/compiled-code.ts'

keepCompiledCode()
const [name, ...rest] = process.argv.slice(2)
// A call starts from one file, because the kernel is often faster than the loading of many modules.
process.exitCode =
  name === 'call'
    ? (createRequire(import.meta.url)('./cli/call.cjs') as typeof import('./cli/call.ts')).runCall(rest)
    : await (await import('./cli/main.ts')).main(process.argv.slice(2))
