import type { Row, Suite } from '@tenon/bench'
import { StringTensor, type Layout } from '@tenon/tstring'
import { bodyOf } from './body.ts'
import { memcpyEach } from './memcpy-each.ts'
import { asciiStrings, COUNT } from './strings.ts'

/** Validation of a whole tensor, against copying its strings once. */
function validation(layout: Layout): Row {
  return {
    name: `validate 1 M strings of ${layout}`,
    unit: 'ns',
    setup: () => {
      const tensor = StringTensor.from(asciiStrings(), { layout, storage: 'packed' })
      const over = bodyOf('StringTensor, segment, options', 'StringTensor.ofSegment(segment, options)')
      return {
        ours: over(StringTensor, tensor.segment, { layout, shape: [COUNT] }),
        peers: { 'memcpy each': memcpyEach(tensor) },
      }
    },
  }
}

export const suite = {
  package: '@tenon/tstring',
  rows: [validation('tf'), validation('tflite'), validation('legacy')],
} satisfies Suite
