import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { drawPlots } from '../src/page/plots.ts'
import { writePage } from '../src/page/page.ts'
import type { Proof } from '../src/page/proof.ts'

const docs = join(import.meta.dirname, '../../../docs')

/** The words of a page, without what its formatter changes. */
const words = (page: string): string => page.replaceAll(/\s+|-{3,}/g, ' ').trim()

const proof = JSON.parse(readFileSync(join(docs, 'reports/proof.json'), 'utf8')) as Proof

describe('docs/proof.md', () => {
  it('is what the command writes for the findings of its run', () => {
    const page = readFileSync(join(docs, 'proof.md'), 'utf8')
    const plots = drawPlots(proof)
    expect(words(page)).toBe(words(writePage(proof, plots)))
    for (const { name, svg } of plots) expect(readFileSync(join(docs, `reports/${name}.svg`), 'utf8')).toBe(svg)
  })

  it('has the losses before all other lines, and a command for each line', () => {
    const page = writePage(proof, [])
    const headings = page.split('\n').filter((line) => line.startsWith('## '))
    expect(headings).toEqual(['## Where Tenon loses', '## Speed', '## Behaviour'])
    for (const { line } of proof.findings) expect(page).toContain(`\`pnpm prove --only ${line}\``)
    for (const { name, peers } of proof.results) {
      for (const rival of Object.keys(peers).filter((one) => !one.endsWith(' alone')))
        expect(page).toContain(`\`pnpm prove --only ${name}/${rival}\``)
    }
  })

  it('shows a verdict that a run has found, and calls a loss without a reason a defect', () => {
    const findings = proof.findings.map((finding) =>
      finding.line === 'calls/int32' && finding.contestant === 'tenon'
        ? { ...finding, verdict: 'wrong' as const, seen: '43' }
        : finding,
    )
    const losses = writePage({ ...proof, findings }, []).split('## Speed')[0]
    expect(losses).toMatch(/calls\/int32\/tenon +\| wrong +\|.*not known: this is a defect/)
  })

  it('names a rival that is absent, with its error', () => {
    const absent = [{ name: 'koffi', reason: 'no such file' }]
    expect(writePage({ ...proof, absent }, [])).toContain('- Absent: koffi, because of an error: no such file')
  })
})
