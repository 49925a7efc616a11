import { quarantine } from '@tenon/config/sanitizer'
import { expect, test } from 'vitest'
import { NativeLibrary } from '../src/native/native-library.ts'
import { StructType } from '../src/native/struct-type.ts'
import { fixturePath } from './fixture.ts'
import { structOf } from './plan-fixture.ts'

/** The number of functions: a million with `pnpm soak`. */
const isSoak = process.env['TENON_SOAK'] === '1'
const rounds = isSoak ? 1_000_000 : 50_000

/** The growth of the process that is allowed, in bytes. */
const ALLOWED = 10 * 2 ** 20 + quarantine

test('functions that are declared and dropped leave no memory behind', { timeout: 600_000 }, () => {
  const fixture = NativeLibrary.open(fixturePath('core_fixture'))
  const pair = new StructType(structOf(['int32', 'float64']))
  const declare = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const f = fixture.function('fixture_int32', { result: 'int32', parameters: ['int32'] })
      if (i % 100 === 0) expect(f(i)).toBe(i)
      if (i % 3 === 0) fixture.function('fixture_sum', { result: pair, parameters: [pair, 'int32', 'pointer'] })
    }
    globalThis.gc!()
  }
  const native = (): number => process.memoryUsage().rss - process.memoryUsage().heapTotal
  // The first rounds compile code and grow the heap of the engine.
  declare(rounds / 2)
  const [before, heap] = [native(), process.memoryUsage().heapUsed]
  declare(rounds)
  expect(native() - before).toBeLessThan(ALLOWED)
  expect(process.memoryUsage().heapUsed - heap).toBeLessThan(ALLOWED)
})
