import { fileURLToPath } from 'node:url'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('..', import.meta.url))

/** Runs a script with the built package in a process of its own, which may crash. */
const run = (source: string): Promise<ScriptResult> =>
  runScript(`import * as pools from '@tenon/pools'\n${source}`, { cwd, nodeOptions: ['--expose-gc'] })

describe('memory that is closed while it is in use', () => {
  test('views are empty after close', async () => {
    const { code, stdout } = await run(`
      const pool = pools.createPool(1 << 20)
      const bytes = new Uint8Array(pool.view().buffer)
      pool.close()
      gc()
      console.log(bytes.length, bytes[0])
    `)
    expect([code, stdout.trim()]).toEqual([0, '0 undefined'])
  })

  test('a pool is closed while another thread writes it to a file', async () => {
    const { code, signal, stdout, stderr } = await run(`
      import { open } from 'node:fs/promises'
      const file = await open('/dev/null', 'w')
      let done = 0
      for (let i = 0; i < 200; i++) {
        const pool = pools.createPool(1 << 22)
        const bytes = new Uint8Array(pool.view().buffer)
        bytes.fill(1)
        const writing = file.write(bytes)
        pool.close()
        await writing.then(() => done++, () => done++)
      }
      await file.close()
      console.log(done)
    `)
    expect({ code, signal, stdout: stdout.trim() }, stderr).toEqual({ code: 0, signal: null, stdout: '200' })
  })

  test('a pool is closed while another thread computes its digest', async () => {
    const { code, signal } = await run(`
      for (let i = 0; i < 50; i++) {
        const pool = pools.createPool(1 << 22)
        const digesting = crypto.subtle.digest('SHA-256', new Uint8Array(pool.view().buffer))
        pool.close()
        await digesting.catch(() => {})
      }
    `)
    expect({ code, signal }).toEqual({ code: 0, signal: null })
  })

  test('a file is truncated under a view, in compiled code and on other threads', async () => {
    const { code, signal, stdout, stderr } = await run(`
      import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
      import { open } from 'node:fs/promises'
      const directory = mkdtempSync('/tmp/tenon-views-')
      const path = directory + '/file'
      writeFileSync(path, Buffer.alloc(1 << 20, 1))
      const pool = pools.openFilePool(path, { access: 'read-write' })
      const bytes = new Uint8Array(pool.view().buffer)
      const sum = () => bytes.reduce((total, byte) => total + byte, 0)
      for (let i = 0; i < 20; i++) sum()
      truncateSync(path, 4096)
      const file = await open('/dev/null', 'w')
      await file.write(bytes)
      await crypto.subtle.digest('SHA-256', bytes)
      console.log(sum())
      await file.close()
      pool.close()
      rmSync(directory, { recursive: true })
    `)
    expect({ code, signal, stdout: stdout.trim() }, stderr).toEqual({ code: 0, signal: null, stdout: '4096' })
  })
})
