import type { Row, Suite } from '@tenon/bench'
import { StringTensor, type Layout } from '@tenon/tstring'
import { scriptKernels } from '../src/kernels/script.ts'
import { bodyOf } from './body.ts'
import { asciiStrings, COUNT } from './strings.ts'

/** Validation of a whole tensor, against the same in JavaScript. */
function validation(layout: Layout): Row {
  return {
    name: `validate 1 M strings of ${layout}`,
    unit: 'ns',
    target: { JavaScript: 0.5 },
    setup: () => {
      const { image, segment } = StringTensor.from(asciiStrings(), { layout, storage: 'packed' })
      const options = { strict: true, writable: false, budget: segment.byteSize }
      return {
        ours: bodyOf('StringTensor, segment, options', 'StringTensor.over(segment, options)')(StringTensor, segment, {
          layout,
          shape: [COUNT],
        }),
        peers: {
          JavaScript: bodyOf('kernels, image, options', 'kernels.validate(image, options)')(
            scriptKernels,
            image,
            options,
          ),
        },
      }
    },
  }
}

export const suite = {
  package: '@tenon/tstring',
  rows: [validation('tf'), validation('tflite'), validation('legacy')],
} satisfies Suite
