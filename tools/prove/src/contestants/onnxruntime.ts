import { createRequire } from 'node:module'
import type { Contestant, Offered, Setup } from '../contestant.ts'

type Tensor = { readonly data: Float32Array }

interface OnnxRuntime {
  Tensor: new (type: string, data: unknown, shape: readonly number[]) => Tensor
  InferenceSession: {
    create(model: Uint8Array): Promise<{
      run(feeds: Record<string, Tensor>): Promise<Record<string, Tensor>>
      release(): Promise<void>
    }>
  }
}

/** A model with one node, y = x + x, in the format of ONNX. */
const model = 'CAg6RQoOCgF4CgF4EgF5IgNBZGQSAWdaFwoBeBISChAIARIMCgQSAngwCgQSAngxYhcKAXkSEgoQCAESDAoEEgJ5MAoEEgJ5MUICEBE='

/** onnxruntime-node, which runs models and does not call C functions. */
export const onnxruntime: Contestant = {
  name: 'onnxruntime',
  description: 'onnxruntime-node with a model of one node, `x + x`; it does not call C functions',
  runtimes: ['node'],
  package: 'onnxruntime-node',
  firstCall: ({ rivals }) => `
import { createRequire } from 'node:module'
const { InferenceSession, Tensor } = createRequire(${JSON.stringify(rivals)})('onnxruntime-node')
const session = await InferenceSession.create(Buffer.from(${JSON.stringify(model)}, 'base64'))
const { y } = await session.run({ x: new Tensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2]) })
if (y.data[3] !== 8) throw new Error('wrong')`,
  open: openModel,
}

async function openModel({ rivals }: Setup): Promise<Offered> {
  const { InferenceSession, Tensor } = createRequire(rivals)('onnxruntime-node') as OnnxRuntime
  const session = await InferenceSession.create(Buffer.from(model, 'base64'))
  return {
    double: async (x) => {
      const { y } = await session.run({ x: new Tensor('float32', x, [2, 2]) })
      return y!.data
    },
    close: () => session.release(),
  }
}
