import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArgumentError, ScopeClosedError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { createImagePool, createPool, openFilePool, PoolsError } from '@tenon/pools'
import { localDriver, operandSlice } from '../src/index.ts'

/** Bytes that run code when their offset is read. */
function bytesThat(run: () => void, size = 16): Uint8Array {
  return Object.defineProperty(new Uint8Array(size), 'byteOffset', {
    get: () => {
      run()
      return 0
    },
  })
}

describe('code of users that runs while a pool is used', () => {
  test('may close the pool, which is then not written', () => {
    const pool = createPool(64)
    expect(() =>
      pool.write(
        0,
        bytesThat(() => pool.close()),
      ),
    ).toThrow(ScopeClosedError)
    const sliced = createPool(64)
    expect(() => sliced.slice(0, 16).write(bytesThat(() => sliced.close()))).toThrow(ScopeClosedError)
    const image = createImagePool({ width: 2, height: 2, format: 'R8G8B8A8_UNORM' })
    expect(() =>
      image.writeRow(
        0,
        0,
        bytesThat(() => image.close(), 8),
      ),
    ).toThrow(ScopeClosedError)
    const other = createImagePool({ width: 2, height: 2, format: 'R8G8B8A8_UNORM' })
    expect(() => other.writePixels(bytesThat(() => other.close()))).toThrow(ScopeClosedError)
  })

  test('does not change the dimensions and the padding of a slice after they were checked', () => {
    using pool = createPool(64)
    let reads = 0
    const dimensions = Object.defineProperty([2, 2], 0, { get: () => (reads++ === 0 ? 2 : 1000) })
    expect(operandSlice(pool, 0, 'TENSOR_FLOAT32', dimensions).dimensions).toEqual([2, 2])
    let paddings = 0
    const options = {
      get padding() {
        return paddings++ === 0 ? 0 : 1 << 20
      },
    }
    expect(pool.slice(0, 64, options).padding).toBe(0)
  })
})

describe('arguments', () => {
  test.runIf(process.platform !== 'win32')('a pipe is refused without waiting for a writer', () => {
    const directory = mkdtempSync(join(tmpdir(), 'pools-pipe-'))
    execFileSync('mkfifo', [join(directory, 'pipe')])
    for (const access of ['read', 'read-write'] as const) {
      expect(() => openFilePool(join(directory, 'pipe'), { access, byteSize: 16 })).toThrow(PoolsError)
    }
    rmSync(directory, { recursive: true })
  })

  test.each([NaN, -1, 0.5, '4', null])('a limit of %s is refused', (pools) => {
    expect(() => localDriver({ limits: { pools: pools as number } })).toThrow(ArgumentError)
    expect(() => localDriver({ limits: { pools: pools as number } })).toThrow(/limits\.pools must be/)
  })

  test('a limit may be infinite', () => {
    expect(() => localDriver({ limits: { pools: Infinity } })).not.toThrow()
  })
})
