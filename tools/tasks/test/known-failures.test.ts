import { expect, test } from 'vitest'

import { withoutKnown } from '../src/lib/known-failures.ts'

const summary = {
  passed: 5,
  failed: 3,
  failures: ['pkg: views end: Error: x', 'pkg: views are shared: Error: y', 'pkg: sums: Error: z'],
}
const views = { package: 'pkg', title: 'views ', reason: 'there are none' }

test('known failures are neither passed nor failed, and others stay', () => {
  expect(withoutKnown(summary, [views])).toEqual({
    passed: 5,
    failed: 1,
    failures: ['pkg: sums: Error: z'],
  })
})

test('a known failure of another package does not hide a failure', () => {
  expect(withoutKnown(summary, [{ ...views, package: 'other' }]).failures).toEqual([
    ...summary.failures,
    'other: views : passes or is gone, so it does not belong to the known failures',
  ])
})

test('a known failure that passes is a failure', () => {
  const { failed, failures } = withoutKnown(summary, [views, { ...views, title: 'products' }])
  expect({ failed, failures }).toEqual({
    failed: 2,
    failures: ['pkg: sums: Error: z', 'pkg: products: passes or is gone, so it does not belong to the known failures'],
  })
})
