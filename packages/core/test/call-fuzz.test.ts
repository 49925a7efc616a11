import { describe, expect, test } from 'vitest'

import { catchMistakes } from '../fuzz/calls/catch-mistakes.ts'
import { fuzzDirectly } from '../fuzz/calls/direct.ts'
import { DirectCore } from '../fuzz/calls/direct-core.ts'
import { DirectProgram } from '../fuzz/calls/direct-program.ts'
import { formatFailure } from '../fuzz/calls/failure.ts'
import { fuzzProduct } from '../fuzz/calls/product.ts'
import { signatureRange } from '../fuzz/calls/signatures.ts'
import { hostAbi } from '../fuzz/calls/toolchains.ts'

// A small part of `pnpm fuzz calls`, with the compiler of this machine and other signatures in each run.
const seed = Math.floor(Math.random() * 2 ** 31)
const compiler = process.platform === 'win32' ? 'gcc' : 'cc'

describe(`random signatures, with the seed ${seed}`, () => {
  test('calls and stubs pass every value as the compiler does', { timeout: 300_000 }, async () => {
    const failures = await fuzzProduct(signatureRange(seed, 0, 60), { compiler, seed, rounds: 4 })
    expect(failures.map(formatFailure)).toEqual([])
  })

  test('wrong plans are found', { timeout: 300_000 }, async () => {
    const known = 1
    const core = await DirectCore.build(hostAbi!, compiler)
    try {
      const program = await DirectProgram.build(core, signatureRange(known, 0, 100))
      expect((await fuzzDirectly(program, { seed, rounds: 2 })).map(formatFailure)).toEqual([])
      const reports = await catchMistakes(program, known)
      expect(reports.length).toBeGreaterThanOrEqual(10)
      expect(reports.filter(({ found }) => found === 0)).toEqual([])
    } finally {
      await core.close()
    }
  })
})
