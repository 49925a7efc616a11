import type { AliveSuite } from '@tenon/bench'
import { StringTensor } from '@tenon/tstring'

const WORDS = ['tensor', 'of', 'strings, some longer than a struct holds']
const NUMPY = `words = ${JSON.stringify(WORDS)}; x = np.array(words)`

export const suite = {
  package: '@tenon/tstring',
  rows: [
    {
      name: 'StringTensor.from() of three strings',
      numpy: { make: 'np.array(words)', setup: NUMPY },
      setup: () => ({ make: () => StringTensor.from(WORDS) }),
    },
    {
      name: "StringTensor.from() of three strings, 'malloc'",
      setup: () => ({
        make: () => StringTensor.from(WORDS, { storage: 'malloc' }),
        end: (strings: StringTensor) => strings[Symbol.dispose](),
      }),
    },
    {
      name: 'toArray() of three strings',
      numpy: { make: 'x.tolist()', setup: NUMPY },
      setup: () => {
        const strings = StringTensor.from(WORDS)
        return { make: () => strings.toArray() }
      },
    },
    {
      name: "to('tflite') of three strings",
      setup: () => {
        const strings = StringTensor.from(WORDS)
        return { make: () => strings.to('tflite') }
      },
    },
    {
      name: 'slice(1) of three strings',
      target: { growth: 'slice(1) of an array of three strings' },
      numpy: { make: 'x[1:]', setup: NUMPY },
      setup: () => {
        const strings = StringTensor.from(WORDS)
        return { make: () => strings.slice(1) }
      },
    },
    {
      name: 'slice(1) of an array of three strings',
      isPeer: true,
      setup: () => ({ make: () => WORDS.slice(1) }),
    },
  ],
} satisfies AliveSuite
