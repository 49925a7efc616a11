import type { Suite } from '@tenon/bench'
import { parseSignature, tensorType } from '@tenon/core'
import { resolveAttributes, resolveCall } from '@tenon/core/internal'

const softmaxText = '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis.'
const matmulText = '(a: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32 | f64'

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      name: 'signature, read that of softmax',
      unit: 'ns',
      setup: () => ({
        ours: () => parseSignature('softmax', softmaxText),
        peers: { 'JSON.parse of its form': jsonParse(parseSignature('softmax', softmaxText)) },
      }),
    },
    {
      name: 'signature, check a call of softmax and infer its result',
      unit: 'ns',
      setup: () => {
        const signature = parseSignature('softmax', softmaxText)
        const x = tensorType('f32', [32, 1000])
        return {
          ours: () => resolveCall(signature, { operands: [x], attributes: { temperature: 1 } }),
          peers: { 'the result alone: tensorType': () => tensorType(x.dtype, [...x.shape]) },
        }
      },
    },
    {
      name: 'signature, check a call of a batched matmul and infer its result',
      unit: 'ns',
      setup: () => {
        const signature = parseSignature('matmul', matmulText)
        const operands = [tensorType('f32', [8, 32, 64]), tensorType('f32', [8, 64, 16])]
        return {
          ours: () => resolveCall(signature, { operands, attributes: {} }),
          peers: { 'the result alone: tensorType': () => tensorType('f32', [8, 32, 16]) },
        }
      },
    },
    {
      name: 'signature, check an attribute',
      unit: 'ns',
      setup: () => {
        const signature = parseSignature('softmax', softmaxText)
        return {
          ours: () => resolveAttributes(signature, { temperature: 2 }),
          peers: { 'Object.fromEntries': () => Object.fromEntries([['temperature', 2]]) },
        }
      },
    },
  ],
} satisfies Suite

function jsonParse(value: unknown): () => unknown {
  const text = JSON.stringify(value)
  return () => JSON.parse(text) as unknown
}
