import type { Contestants, Suite } from '@tenon/bench'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { Library } from 'tenon'

export const suite = {
  package: 'tenon',
  rows: [
    {
      name: 'kernel of TensorFlow, one operand of 16 floats',
      unit: 'ns',
      target: { 'typed custom call': 1.5 },
      setup: (): Contestants => {
        const [ofTensorFlow, typed] = [
          Library.open(kernelLibrary('tf_kernels')),
          Library.open(kernelLibrary('kernels')),
        ]
        const scale = ofTensorFlow.kernel('Scale')
        const sum = typed.kernel('optional_sum', { signature: '(x: f32[n]) -> (y: f32[n])' })
        const x = tensor('f32', [16])
        return {
          ours: () => void scale(x),
          peers: { 'typed custom call': () => void sum(x) },
          teardown: () => {
            ofTensorFlow.close()
            typed.close()
          },
        }
      },
    },
  ],
} satisfies Suite
