import { expect, test } from 'vitest'
import { aliveResultOf } from '../../src/alive/alive-result.ts'
import { formatAliveTable } from '../../src/alive/alive-table.ts'
import { contestant, result, sample, task } from './fake-results.ts'

test('the table has the times and the bytes of each count, and NumPy below the row', () => {
  const samples = new Map([
    [1, [sample(1, 250), sample(1, 350)]],
    [10_000, [sample(10_000, 2500, 1812, 12)]],
  ])
  const skipped = new Map([[1_000_000, 'it failed']])
  const ours = aliveResultOf({ task: task(), contestant: contestant(() => sample(1, 1)), samples, skipped })
  const numpy = result({ 1: 600 }, {}, 'NumPy 1.24.2')
  const peer = result({ 1_000_000: 40 }, { name: 'malloc', isPeer: true })
  expect(formatAliveTable([ours, numpy, peer]).replaceAll(/(?<=\S) {2,}/g, ' | ')).toBe(
    [
      '@tenon/x, Node 24.21.0 | 1 alive | 10,000 alive | 1,000,000 alive | growth',
      '  thing | 300 ns ±8% | 2.50 us ±0%, 1,812 B, after +0 %, leaks 12 B | - | n^1.25',
      '    / NumPy 1.24.2 | 600 ns ±0% x0.50',
      '  malloc (peer) | 40 ns ±0%, 100 B, after +0 %',
    ].join('\n'),
  )
})

test('each runtime has a table of its own', () => {
  const text = formatAliveTable([result({ 1: 5 }), result({ 1: 12_345 }, {}, 'Node 26.10.0')])
  expect(text.split('\n\n')).toEqual([
    expect.stringMatching(/^@tenon\/x, Node 24\.21\.0 +1 alive +growth\n {2}thing +5 ns ±0%$/),
    expect.stringMatching(/^@tenon\/x, Node 26\.10\.0 +1 alive +growth\n {2}thing +12\.3 us ±0%$/),
  ])
})
