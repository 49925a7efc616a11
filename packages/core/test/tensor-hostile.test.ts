import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { ArgumentError, ArgumentRangeError, gcAllocator, tensor, TenonError, type Segment } from '@tenon/core'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'

const packageDirectory = fileURLToPath(new URL('..', import.meta.url))

/** Runs code with little memory, so that a loop over billions of elements ends the process soon. */
function withLittleMemory(code: string): Promise<ScriptResult> {
  return runScript(
    `import { tensor } from '@tenon/core'
     const endless = []
     endless.length = 2 ** 32 - 1
     const report = (run) => {
       try { run(); console.log('nothing') } catch (error) { console.log(error.code) }
     }
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning', '--max-old-space-size=300'],
    },
  )
}

/** A segment whose start is somewhere else after some reads. */
function lying(segment: Segment, honestReads: number): Segment {
  let reads = 0
  return new Proxy(segment, {
    get: (target, key) => (key === 'base' && ++reads > honestReads ? 2 ** 40 : (Reflect.get(target, key) as unknown)),
  })
}

describe('tensors of hostile input', () => {
  test('a literal that claims billions of elements is refused', async () => {
    const { code, stdout } = await withLittleMemory(
      `report(() => tensor(endless)); report(() => tensor('f32', endless))`,
    )
    expect([code, stdout]).toEqual([0, 'TENON_ARGUMENT\nTENON_ARGUMENT\n'])
  })

  test('a shape or an order that claims billions of axes is refused', async () => {
    const { code, stdout } = await withLittleMemory(
      `report(() => tensor([1, 2]).reshape(endless)); report(() => tensor([1, 2]).permute(endless))`,
    )
    expect([code, stdout]).toEqual([0, 'TENON_ARGUMENT\nTENON_ARGUMENT\n'])
  })

  test('a tensor and its views stay in the memory of a segment that is a Proxy', () => {
    const segment = gcAllocator.allocate(64, 64)
    const start = Number(segment.address)
    for (let honest = 0; honest < 12; honest++) {
      let made
      try {
        made = tensor('f32', [4], lying(segment, honest))
        expect([made.address, made.reshape([2, 2]).address]).toEqual([start, start])
      } catch (error) {
        if (!(error instanceof TenonError)) throw error
      }
    }
  })

  test('equals() refuses a Proxy of a tensor and what only inherits from one', () => {
    const x = tensor([1, 2])
    for (const fake of [new Proxy(x, {}), Object.create(x), Object.create(Object.getPrototypeOf(x) as object)])
      expect(() => x.equals(fake as typeof x)).toThrow(ArgumentError)
  })

  test('views of empty and of very long axes end at once', () => {
    const x = tensor('f32', [2, 3], [1, 2, 3, 4, 5, 6])
    expect(x.transpose().slice([0, 0]).reshape([2, 0]).shape).toEqual([2, 0])
    const long = tensor('f32', [0]).reshape([2 ** 53 - 1, 2 ** 53 - 1, 0])
    expect(String(long).length).toBeLessThan(5000)
    expect(() => JSON.stringify(long)).toThrow(ArgumentRangeError)
    expect(long.toArray()).toEqual([])
    // Its stride would exceed 2^53.
    expect(() => long.transpose().unsqueeze(1)).toThrow(TenonError)
  })

  test('memory that a value closes while it is read is not written', () => {
    const x = tensor('f32', [2])
    const values = [1, 2]
    Object.defineProperty(values, 1, {
      get: () => ((x.view().buffer as ArrayBuffer).transfer(), 2),
    })
    expect(() => x.set(values)).toThrow(TenonError)
  })
})
