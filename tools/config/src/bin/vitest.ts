#!/usr/bin/env node
/**
 * Runs vitest on the Node that `TENON_NODE` names. A package's script can't say `vitest` itself: the workspace's own Node
 * stands first on its PATH, and beside vitest's shim.
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
