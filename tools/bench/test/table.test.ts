import { expect, test } from 'vitest'

import { resultOf, type RowSamples } from '../src/result.ts'
import { formatTable } from '../src/table.ts'

const samples: RowSamples = {
  package: '@tenon/x',
  name: 'allocate',
  unit: 'ns',
  node: '24.21.0',
  target: { malloc: 0.5 },
  ours: [9, 10, 11],
  peers: { malloc: [40, 40, 40], 'Buffer.alloc': [2000, 2000, 2000] },
}

test('the table has a column for each Node.js, and a line for ours and each peer', () => {
  const results = [samples, { ...samples, node: '26.10.0', ours: [1, 1, 1] }].map(resultOf)
  expect(formatTable(results)).toBe(
    [
      '@tenon/x             Node 24.21.0                           Node 26.10.0',
      '  allocate              10.0 ns ±5%                            1.00 ns ±0%',
      '    / malloc            40.0 ns ±0%    x0.25 ±5% (<= 0.5)      40.0 ns ±0%    x0.025 ±0% (<= 0.5)',
      '    / Buffer.alloc      2000 ns ±0%    x0.0050 ±5%             2000 ns ±0%    x0.00050 ±0%',
    ].join('\n'),
  )
})

test('a row that was not measured on a Node.js has an empty cell', () => {
  const results = [samples, { ...samples, name: 'free' }, { ...samples, node: '26.10.0' }].map(resultOf)
  expect(formatTable(results).split('\n').at(-3)).toMatch(/^ {2}free +10\.0 ns ±5% +-$/)
})

test('a peer that one Node.js does not have has an empty cell', () => {
  const results = [samples, { ...samples, node: '26.10.0', peers: { ...samples.peers, 'node:ffi': [5, 5, 5] } }].map(
    resultOf,
  )
  expect(formatTable(results).split('\n').at(-1)).toMatch(/^ {4}\/ node:ffi +- +5\.00 ns ±0% +x2\.00 ±5%$/)
})
