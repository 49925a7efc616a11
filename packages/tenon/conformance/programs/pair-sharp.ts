import assert from 'node:assert/strict'
import sharp, { type Sharp } from 'sharp'
import { ScopeHeldError, type Tensor, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'
import {
  adopted,
  afterCopy,
  checkPair,
  collect,
  flat,
  inPlace,
  lent,
  nest,
  pixels,
  refused,
  refusedBy,
  reordered,
  scopeClosed,
  tensorCollected,
} from './pair.ts'

const values = pixels(1)
const open = (bytes: Uint8Array, height: number, width: number): Sharp =>
  sharp(bytes, { raw: { width, height, channels: 1 } }).toColourspace('b-w')

const whole = (): Sharp => open(Uint8Array.from(flat(values.contiguous)), 2, 3)

/** The pixels of a pipeline. */
async function run(image: Sharp): Promise<{ x: object; memory: Buffer }> {
  const x = await image.raw().toBuffer({ resolveWithObject: true })
  return { x, memory: x.data }
}

/** Tenon's memory as input of a pipeline. */
function take(t: Tensor): { image: Sharp; read(): Promise<unknown>; memory: Uint8Array } {
  const image = open(t.view() as Uint8Array, t.shape[0]!, t.shape[1]!)
  const { options } = image as unknown as { options: { input: { buffer: Uint8Array } } }
  return { image, read: async () => nest((await run(image)).memory, t.shape), memory: options.input.buffer }
}

await checkPair({
  dtype: 'u8',
  values,
  toTenon: {
    contiguous: inPlace(() => run(whole())),
    transposed: reordered(() => run(whole().rotate(90).flip())),
    sliced: reordered(() => run(whole().extract({ left: 1, top: 0, width: 2, height: 2 }))),
    reversed: reordered(() => run(whole().flop())),
    'no elements': refused(() => run(whole().resize({ width: 0 })), /Expected positive integer between 1/),
    '0-d': refused(() => run(sharp(Uint8Array.of(5), { raw: {} as never })), /Expected width, height and channels/),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': refusedBy(take, /is empty/),
    '0-d': refusedBy(take, /Expected width, height and channels/),
  },
  lifetimes: [
    {
      closed: 'the pipeline and its result are collected',
      left: 'the memory stays',
      async check() {
        const y = adopted((await run(whole())).x)
        await collect()
        assert.deepEqual(y.toNested(), values.contiguous)
      },
    },
    {
      closed: 'the scope of an input that is pinned',
      left: '`ScopeHeldError`, the memory stays',
      async check() {
        const scope = NativeScope.ofConfined()
        const t = tensor('u8', [512, 512, 1], new Uint8Array(2 ** 18).fill(7), { allocator: scope })
        const pin = t.segment.pin()
        const running = run(take(t).image.rotate(90))
        assert.throws(() => scope.close(), ScopeHeldError)
        await collect()
        assert.ok((await running).memory.every((one) => one === 7))
        pin.release()
        scope.close()
      },
    },
    scopeClosed(take, 'an error of sharp', async ({ read }) => {
      await assert.rejects(async () => read(), /memory area too small/)
    }),
    tensorCollected(take),
  ],
})
