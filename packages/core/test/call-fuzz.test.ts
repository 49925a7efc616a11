import { describe, expect, test } from 'vitest'

import { formatFailure } from '../fuzz/calls/failure.ts'
import { fuzzProduct } from '../fuzz/calls/product.ts'
import { signatureRange } from '../fuzz/calls/signatures.ts'

// A small part of `pnpm fuzz calls`, with the compiler of this machine and other signatures in each run.
const seed = Math.floor(Math.random() * 2 ** 31)
const compiler = process.platform === 'win32' ? 'gcc' : 'cc'

describe(`random signatures, with the seed ${seed}`, () => {
  test('calls and stubs pass every value as the compiler does', { timeout: 300_000 }, async () => {
    const failures = await fuzzProduct(signatureRange(seed, 0, 60), { compiler, seed, rounds: 4 })
    expect(failures.map(formatFailure)).toEqual([])
  })
})
