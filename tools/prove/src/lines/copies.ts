/** Whether operands are copied, which bytes show that are written after the call. */
import { type Check, type Line } from '../line.ts'

const SIZE = 2 ** 20

/** Writes to the operand after C has kept its address: C sees the new byte only if the memory is the same. */
async function isShared(write: () => void, kept: () => unknown): Promise<Check> {
  write()
  const byte = await kept()
  return { isRight: byte === 9, seen: byte === 9 ? 'in place' : 'copied' }
}

export const copies: readonly Line[] = [
  {
    name: 'copies/typed-array',
    work: 'C keeps the address of a Uint8Array of 1 MiB. Bytes that JavaScript writes later show whether it got the array or a copy.',
    expected: 'result',
    needs: ['keep', 'kept'],
    run: async ({ keep, kept }) => {
      const bytes = new Uint8Array(SIZE).fill(1)
      if ((await keep(bytes)) !== 1) return { isRight: false, seen: 'C read another byte' }
      return isShared(() => (bytes[0] = 9), kept)
    },
  },
  {
    name: 'copies/own-memory',
    work: 'The same with 1 MiB of memory of the contestant, which calls can use without a copy.',
    expected: 'result',
    needs: ['keep', 'kept', 'inPlace'],
    run: async ({ keep, kept, inPlace }) => {
      const { argument, write } = inPlace(SIZE)
      write(0, 1)
      if ((await keep(argument)) !== 1) return { isRight: false, seen: 'C read another byte' }
      return isShared(() => write(0, 9), kept)
    },
  },
  {
    name: 'copies/written-by-c',
    work: 'C writes to a Uint8Array of 1 MiB, which JavaScript reads afterwards.',
    expected: 'result',
    needs: ['fill'],
    run: async ({ fill }) => {
      const bytes = new Uint8Array(SIZE)
      await fill(bytes, SIZE, 7)
      const written = bytes.every((byte) => byte === 7)
      return { isRight: written, seen: written ? 'the bytes are there' : 'the bytes are not there' }
    },
  },
]
