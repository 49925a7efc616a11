import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUICK_PLAN, runBench } from '@tenon/bench'
import { describe, expect, it } from 'vitest'
import { installedSize } from '../src/install-size.ts'
import { noisyRowsAmong, slowRowsAmong, smallerThanTenon } from '../src/judgement.ts'

describe('speeds find errors in Tenon', () => {
  it(
    'a slow call and a slow start are losses, and a rival with a wrong result is not measured',
    { timeout: 180_000 },
    async () => {
      const { results, failures } = await runBench({
        files: [join(import.meta.dirname, 'fixtures/slow.bench.ts')],
        nodes: [process.execPath],
        plan: { ...QUICK_PLAN, warmup: 0, budget: 2e9 },
        fromSource: false,
        check: false,
        progress: () => {},
      })
      expect(failures).toEqual([])
      expect(results.map(({ name, peers }) => [name, Object.keys(peers)])).toEqual([
        ['calls/int32', ['rival']],
        ['start/first-call', ['rival', 'node alone']],
      ])
      expect(
        slowRowsAmong(results)
          .map(({ row, rival }) => [row.name, rival])
          .toSorted(),
      ).toEqual([
        ['calls/int32', 'rival'],
        ['start/first-call', 'rival'],
      ])
      const faster = results.map((row) => ({
        ...row,
        quartiles: { ...row.quartiles, ratios: { rival: [0.5, 0.7] as const, 'node alone': [0.5, 0.7] as const } },
      }))
      expect(slowRowsAmong(faster)).toEqual([])
      expect(noisyRowsAmong(faster)).toEqual([])
      const noisy = { ...faster[0]!, quartiles: { ...faster[0]!.quartiles, ratios: { rival: [0.5, 0.8] as const } } }
      expect(noisyRowsAmong([{ ...noisy, ratios: { rival: 0.6 } }])).toEqual(['calls/int32/rival'])
    },
  )

  it('the install size counts dependencies, and a larger package is a loss', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenon-prove-size-'))
    const write = (name: string, manifest: object, bytes: number): void => {
      const directory = join(folder, 'node_modules', name)
      mkdirSync(directory, { recursive: true })
      writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, ...manifest }))
      writeFileSync(join(directory, 'index.js'), ' '.repeat(bytes))
    }
    try {
      write('rival', { dependencies: { part: '1' }, optionalDependencies: { 'for-another-platform': '1' } }, 1000)
      write('part', { dependencies: { rival: '1' } }, 500)
      write('grown', { dependencies: { part: '1' } }, 5000)
      const [rival, grown] = [installedSize('rival', folder), installedSize('grown', folder)]
      expect(rival.packages).toBe(2)
      expect(rival.bytes).toBeGreaterThan(1500)
      expect(rival.bytes).toBeLessThan(2000)
      expect(smallerThanTenon({ tenon: grown, rival })).toEqual(['rival'])
      expect(smallerThanTenon({ tenon: rival, rival: grown })).toEqual([])
      expect(() => installedSize('missing', folder)).toThrow('missing is not installed')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
