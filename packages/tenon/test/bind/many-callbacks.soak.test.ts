import { rmSync } from 'node:fs'
import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { afterAll, expect, test } from 'vitest'
import { compileStore } from './bound-store.ts'

/** The functions that C keeps. A process has addresses for 1,048,576. */
const COUNT = process.env['TENON_SOAK'] === '1' ? 1_000_000 : 100_000

const { directory, bind } = compileStore()
afterAll(() => rmSync(directory, { recursive: true }))

test(
  `${COUNT} functions that C may keep cause one warning, and end with the module`,
  { timeout: 600_000 },
  async () => {
    expect(bind('--output', 'plain').code).toBe(0)
    const program = `import * as bound from './plain/index.js'
    for (let i = 0; i < ${COUNT}; i++) bound.store_keep((value) => value + i)
    console.log(bound.store_call_kept(1))
    const first = (value) => value * 2
    bound.store_keep(first)
    console.log(bound.store_call_kept(4))
    bound.library.close()
    try { bound.store_call_kept(1) } catch (error) { console.log(error.code) }`
    const { code, signal, stdout, stderr } = await runScript(program, {
      cwd: directory,
      nodeOptions: [...packageFlags],
      timeout: 500_000,
    })
    expect({ code, signal, stdout }).toEqual({ code: 0, signal: null, stdout: `${COUNT}\n8\nTENON_SCOPE_CLOSED\n` })
    expect(stderr.match(/1000 functions are callbacks/g)).toHaveLength(1)
  },
)
