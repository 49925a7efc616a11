/** Arguments that a program must not pass, and that strangers may. */
import { type Line, returned } from '../line.ts'

/** The bytes of a buffer that another thread has taken over. */
function detached<Bytes extends Uint8Array | Float32Array>(bytes: Bytes): Bytes {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] })
  return bytes
}

export const hostile: readonly Line[] = [
  {
    name: 'hostile/wrong-type',
    work: 'A string is passed as an integer.',
    expected: 'error',
    needs: ['addOne'],
    run: async ({ addOne }) => returned(await addOne('12')),
  },
  {
    name: 'hostile/out-of-range',
    work: '2 ** 40 is passed as an integer of 32 bits.',
    expected: 'error',
    needs: ['addOne'],
    run: async ({ addOne }) => returned(await addOne(2 ** 40)),
  },
  {
    name: 'hostile/missing',
    work: 'An argument is missing.',
    expected: 'error',
    needs: ['addOne'],
    run: async ({ addOne }) => returned(await (addOne as () => unknown)()),
  },
  {
    name: 'hostile/object-as-memory',
    work: 'An object without memory is passed as a pointer.',
    expected: 'error',
    needs: ['sum'],
    run: async ({ sum }) => returned(await sum({ length: 16 }, 16)),
  },
  {
    name: 'hostile/number-as-memory',
    work: 'The number 4096 is passed as a pointer.',
    expected: 'error',
    needs: ['sum'],
    run: async ({ sum }) => returned(await sum(4096, 16)),
  },
  {
    name: 'hostile/detached',
    work: 'A Uint8Array is passed whose buffer was transferred.',
    expected: 'error',
    needs: ['sum'],
    run: async ({ sum }) => returned(await sum(detached(new Uint8Array(64)), 64)),
  },
  {
    name: 'hostile/false-size',
    work: 'The size of an operand of 16 bytes is said to be 1 TiB, and C reads as much.',
    expected: 'error',
    needs: ['sum', 'addOne'],
    run: async ({ sum }) => returned(await sum(new Uint8Array(16), 2 ** 40)),
  },
  {
    name: 'hostile/huge-size',
    work: 'Memory of 2 ** 52 bytes is allocated.',
    expected: 'error',
    needs: ['allocate', 'fill'],
    run: async ({ allocate, fill }) => {
      const { argument } = allocate(2 ** 52)
      await fill(argument, 1, 1)
      return returned('memory')
    },
  },
  {
    name: 'model/wrong-type',
    work: 'A kernel or a model of float32 gets float64.',
    expected: 'error',
    needs: ['double'],
    run: async ({ double }) => returned(await double(Float64Array.of(1, 2, 3, 4))),
  },
  {
    name: 'model/wrong-shape',
    work: 'A kernel or a model of 2 x 2 numbers gets three.',
    expected: 'error',
    needs: ['double'],
    run: async ({ double }) => returned(await double(Float32Array.of(1, 2, 3))),
  },
  {
    name: 'model/detached',
    work: 'A kernel or a model gets an array whose buffer was transferred.',
    expected: 'error',
    needs: ['double'],
    run: async ({ double }) => returned(await double(detached(Float32Array.of(1, 2, 3, 4)))),
  },
]
