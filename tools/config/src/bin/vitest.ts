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
const child = spawn(node, [vitest, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` },
})
child.on('close', (code) => {
  process.exitCode = code ?? 1
})
