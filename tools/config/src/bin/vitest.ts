#!/usr/bin/env node
/**
 * Runs vitest on the Node.js that `TENON_NODE` selects. The scripts of packages cannot run `vitest` directly, because the
 * Node.js of the workspace is first on their PATH.
 */
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { chosenNode } from '../node-versions.ts'

const node = chosenNode()
const vitest = join(dirname(fileURLToPath(import.meta.resolve('vitest/package.json'))), 'vitest.mjs')
const args = process.argv.slice(2)

/**
 * Where the processes of vitest, and those that tests start, keep compiled code. Without it, each of them compiles vitest and what it tests
 * again, and strips the types of sources, which takes three quarters of its time. Node 22 keeps only the compiled code, not the stripped
 * sources. V8 does not count the blocks of functions that it takes from a cache.
 */
const compileCache = join(import.meta.dirname, '../../../../node_modules/.cache/tenon/compile-cache')
const isCoverage = args.some((arg, i) => arg === '--mode=coverage' || (arg === 'coverage' && args[i - 1] === '--mode'))

const child = spawn(node, [vitest, ...args], {
  stdio: 'inherit',
  env: {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env['PATH']}`,
    ...(isCoverage ? {} : { NODE_COMPILE_CACHE: compileCache }),
  },
})
child.on('close', (code) => {
  process.exitCode = code ?? 1
})
