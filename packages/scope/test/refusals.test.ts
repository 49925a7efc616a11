import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectRefusalsLeaveNothing } from '@tenon/config/refusals'
import { addressOf, coreFunctions, liveCallbacks, liveHolds, STATUS } from '@tenon/core/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope } from '../src/index.ts'
import { upcallStub } from '../src/linker.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-refusals-'))
  writeFileSync(join(directory, 'file'), 'x'.repeat(5000))
})
afterAll(() => rmSync(directory, { recursive: true }))

const counters = (): object => ({
  descriptors: readdirSync('/proc/self/fd').length,
  callbacks: liveCallbacks(),
  holds: liveHolds.count,
  mapped: mapped(),
})

/** The number and the bytes of the open mappings. */
function mapped(): string {
  const totals = new BigUint64Array(2)
  coreFunctions().tn_mapping_totals(addressOf(totals), addressOf(totals.subarray(1)))
  return totals.join()
}

const scenarios: readonly (readonly [name: string, functions: readonly string[], run: () => unknown])[] = [
  [
    'a stub',
    ['tn_stub_create'],
    () => NativeScope.ofConfined().run((scope) => void upcallStub(() => 1, { result: 'int32', parameters: [] }, scope)),
  ],
  [
    'two mapped files',
    ['tn_mapping_open'],
    () =>
      NativeScope.ofConfined().run((scope) => {
        for (const access of ['read', 'write'] as const)
          MemorySegment.mapFile(join(directory, 'file'), scope, { access })
      }),
  ],
]

describe.runIf(process.platform === 'linux')('a refused resource leaves no callback, descriptor or mapping', () => {
  test.each(scenarios)('%s', async (_, functions, run) => {
    for (const status of ['OUT_OF_MEMORY', 'SYSTEM'] as const) {
      const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS[status].value, run, counters)
      expect(refused).toEqual(expect.arrayContaining([...functions]))
    }
  })
})
