import assert from 'node:assert/strict'
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { ArgumentError, ScopeHeldError, type Tensor, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'
import { oneNode } from './onnx-model.ts'
import {
  adopted,
  afterCopy,
  checkPair,
  collect,
  flat,
  inPlace,
  lent,
  matrix,
  nest,
  reordered,
  tensorCollected,
} from './pair.ts'

const ort = (values: unknown, shape: readonly number[]): OrtTensor =>
  new OrtTensor('float32', Float32Array.from(flat(values)), shape)

const index = (value: number): OrtTensor => new OrtTensor('int64', BigInt64Array.of(BigInt(value)), [1])

const open = (...model: Parameters<typeof oneNode>): Promise<InferenceSession> =>
  InferenceSession.create(oneNode(...model))

const whole = ort(matrix.contiguous, [2, 3])

/** The result of a session that applies an operator. */
async function run(operator: string, x: OrtTensor, more: Record<string, OrtTensor> = {}): Promise<OrtTensor> {
  const session = await open(operator, x.dims.length, Object.keys(more))
  const { y } = await session.run({ x, ...more })
  await session.release()
  return y as OrtTensor
}

const given = (x: OrtTensor): { x: OrtTensor; memory: Float32Array } => ({ x, memory: x.data as Float32Array })

const slice = (start: number, end: number, step: number): Promise<OrtTensor> =>
  run('Slice', whole, { starts: index(start), ends: index(end), axes: index(1), steps: index(step) })

/** Tenon's memory as input of a session. */
function take(t: Tensor): { read(): Promise<unknown>; memory: Float32Array } {
  const x = new OrtTensor('float32', t.view() as Float32Array, t.shape)
  const read = async (): Promise<unknown> => {
    const y = await run('Identity', x)
    return nest(y.data as Float32Array, y.dims)
  }
  return { read, memory: x.data as Float32Array }
}

await checkPair({
  values: matrix,
  toTenon: {
    contiguous: inPlace(async () => given(await run('Identity', whole))),
    transposed: reordered(async () => given(await run('Transpose', whole))),
    sliced: reordered(async () => given(await slice(1, 3, 1))),
    reversed: reordered(async () => given(await slice(-1, -100, -1))),
    'no elements': inPlace(async () => given(await run('Identity', ort([], [0, 3])))),
    '0-d': inPlace(async () => given(await run('Identity', ort([5], [])))),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': lent(take),
    '0-d': lent(take),
  },
  lifetimes: [
    {
      closed: '`dispose()` of a result, `release()` of its session',
      left: 'the memory stays',
      async check() {
        const session = await open('Identity', 2)
        let result: OrtTensor | undefined = (await session.run({ x: whole })).y as OrtTensor
        const y = adopted(result)
        result.dispose()
        assert.throws(() => adopted(result), /disposed/)
        await session.release()
        result = undefined
        await collect()
        assert.deepEqual(y.toNested(), matrix.contiguous)
      },
    },
    {
      closed: 'the scope of an input',
      left: 'an error of the session',
      async check() {
        const scope = NativeScope.ofConfined()
        const x = new OrtTensor('float32', tensor('f32', [2], [1, 2], { allocator: scope }).view(), [2])
        const session = await open('Identity', 1)
        // The session reads its input in a later turn of the event loop.
        const running = session.run({ x })
        scope.close()
        await assert.rejects(running, /not enough space/)
        await collect()
        await assert.rejects(session.run({ x }), /not enough space/)
        assert.throws(() => adopted(x), ArgumentError)
      },
    },
    {
      closed: 'the scope of an input and a result that are pinned',
      left: '`ScopeHeldError`, the memory stays',
      async check() {
        const scope = NativeScope.ofConfined()
        const allocate = (values: number[]): Tensor => tensor('f32', [2], values, { allocator: scope })
        const [input, output] = [allocate([1, 2]), allocate([0, 0])]
        const [x, y] = [input, output].map((one) => new OrtTensor('float32', one.view() as Float32Array, [2]))
        const session = await open('Identity', 1)
        const pins = [input.segment.pin(), output.segment.pin()]
        const running = session.run({ x: x! }, { y: y! })
        assert.throws(() => scope.close(), ScopeHeldError)
        await collect()
        await running
        for (const pin of pins) pin.release()
        assert.deepEqual(output.toArray(), [1, 2])
        scope.close()
      },
    },
    tensorCollected(take),
  ],
})
