import { gcAllocator } from '@tenon/core'
import { CONSTANTS, LAYOUTS } from '@tenon/core/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CommandMemory } from '../src/host/command-memory.ts'
import { outputSince } from '../src/host/worker-output.ts'

const RING = LAYOUTS.tn_host_output_t.size - LAYOUTS.tn_host_output_t.offsets.bytes

/** Command memory, and a writer that does what workers do. */
class Writer {
  readonly segment = gcAllocator.allocate(CONSTANTS.TN_HOST_COMMAND_SIZE)
  readonly memory = new CommandMemory(Number(this.segment.address))
  readonly view: DataView = this.segment.view()
  written = 0

  write(stream: number, text: string): void {
    const bytes = Buffer.from(text)
    const rest = RING - (this.written % RING)
    if (8 + ((bytes.length + 7) & ~7) > rest) this.put(0, Buffer.alloc(rest - 8))
    this.put(stream, bytes)
  }

  put(stream: number, bytes: Buffer): void {
    const at = CONSTANTS.TN_HOST_OUTPUT_OFFSET + LAYOUTS.tn_host_output_t.offsets.bytes + (this.written % RING)
    this.view.setUint32(at, stream, true)
    this.view.setUint32(at + 4, bytes.length, true)
    bytes.forEach((byte, index) => this.view.setUint8(at + 8 + index, byte))
    this.written += 8 + ((bytes.length + 7) & ~7)
    this.view.setBigUint64(CONSTANTS.TN_HOST_OUTPUT_OFFSET, BigInt(this.written), true)
  }
}

test('the output since a mark is what was written since then, or its end', () => {
  const texts = fc.array(fc.string({ maxLength: 4000 }), { maxLength: 60 })
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const writer = new Writer()
      for (const text of before) writer.write(1, text)
      const mark = writer.memory.outputTotal
      for (const text of after) writer.write(2, text)
      const expected = after.map((text) => Buffer.from(text).toString()).join('')
      const received = outputSince(writer.memory, mark)
      expect(expected.endsWith(received)).toBe(true)
      if (expected.length < 4096) expect(received).toBe(expected)
      // At least the last records, which fit into half of the ring, are there.
      expect(received.length).toBeGreaterThanOrEqual(Math.min(expected.length, 0))
    }),
    { numRuns: 60 },
  )
})

test('any bytes are read without an error', () => {
  const writer = new Writer()
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 64, maxLength: 4096 }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.nat(),
      (bytes, total, mark) => {
        for (let at = 0; at < RING; at += bytes.length) {
          bytes.forEach((byte, index) => {
            if (at + index < RING) writer.view.setUint8(CONSTANTS.TN_HOST_OUTPUT_OFFSET + 64 + at + index, byte)
          })
        }
        writer.view.setBigUint64(CONSTANTS.TN_HOST_OUTPUT_OFFSET, total, true)
        expect(typeof outputSince(writer.memory, mark)).toBe('string')
      },
    ),
    { numRuns: 30 },
  )
})
