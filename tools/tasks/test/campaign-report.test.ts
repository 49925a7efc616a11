import { expect, test } from 'vitest'
import { campaignReport } from '../src/lib/campaign-report.ts'

const campaign = {
  name: 'soak',
  command: 'pnpm soak --filter @tenon/pools',
  start: new Date('2026-01-02T03:04:05Z'),
  end: new Date('2026-01-02T05:04:05Z'),
  commit: '1234567',
}

test('the report of a campaign says what ran, where, how long and with which result', () => {
  const text = campaignReport(campaign, { passed: 12, failed: 0, failures: [] })
  expect(text).toContain('# pnpm soak\n')
  expect(text).toContain('`pnpm soak --filter @tenon/pools`, which began on 2026-01-02 03:04 UTC and took 120 minutes.')
  expect(text).toContain('- Commit: 1234567')
  expect(text).toContain(`- Node.js: ${process.versions.node}`)
  expect(text).toContain('- Result: **12 passed, 0 failed**')
  expect(text).not.toContain('## Failures')
})

test('the report of a campaign lists its failures', () => {
  const text = campaignReport(campaign, { passed: 1, failed: 2, failures: ['a: one', 'b: two'] })
  expect(text).toContain('- Result: **1 passed, 2 failed**\n\n## Failures\n\n- a: one\n- b: two\n')
})
