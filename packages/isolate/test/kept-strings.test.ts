import { gcAllocator, Segment } from '@tenon/core'
import { LAYOUTS, READ_ONLY } from '@tenon/core/internal'
import { expect, test } from 'vitest'
import { KeptStrings } from '../src/script-host/kept-strings.ts'

const { size: RECORD, offsets: AT } = LAYOUTS.tn_host_strings_t

function segmentOf(text: string): Segment {
  const segment = gcAllocator.allocate(text.length, 8)
  segment.block.bytes.write(text, segment.base, 'latin1')
  return segment
}

const textOf = ({ block, base, byteSize }: Segment): string => block.bytes.toString('latin1', base, base + byteSize)

function part(number: number): Buffer {
  const body = Buffer.alloc(4)
  body.writeUInt32LE(number)
  return body
}

test('the strings of a result are fetched by the record that the answer has, and released with their value', () => {
  const kept = new KeptStrings()
  const { value, body } = kept.keep([
    { operand: 3, strings: segmentOf('first') },
    { operand: 7, strings: segmentOf('second result') },
  ])
  const bytes = Buffer.from(body)
  expect([bytes.length, bytes.readUInt32LE(2 * RECORD)]).toEqual([2 * RECORD + 4, 2])
  const read = [0, RECORD].map((at) => {
    const to = gcAllocator.allocate(Number(bytes.readBigUInt64LE(at + AT.size)), 8)
    kept.fetch(value, part(bytes.readUInt32LE(at + AT.part)), to)
    return [bytes.readUInt32LE(at + AT.operand), textOf(to)]
  })
  expect(read).toEqual([
    [3, 'first'],
    [7, 'second result'],
  ])
  const other = kept.keep([{ operand: 0, strings: segmentOf('') }])
  expect(other.value).not.toBe(value)
  kept.release(value)
  expect(() => kept.fetch(value, part(1), null)).toThrow(`there is no kept value ${value}`)
  expect(() => kept.release(value)).toThrow(`there is no kept value ${value}`)
})

test('requests that do not fit the value are refused', () => {
  const kept = new KeptStrings()
  const { value } = kept.keep([{ operand: 0, strings: segmentOf('text') }])
  const to = gcAllocator.allocate(4, 8)
  for (const body of [part(0), part(2), part(2 ** 32 - 1), Buffer.alloc(3), Buffer.alloc(8, 1)])
    expect(() => kept.fetch(value, body, to)).toThrow('must name one of the 1 parts')
  const { block, base } = to
  for (const target of [null, gcAllocator.allocate(5, 8), new Segment(block, base, 4, READ_ONLY)])
    expect(() => kept.fetch(value, part(1), target)).toThrow('one writable operand of 4 bytes')
  const many = Array.from({ length: 1025 }, () => ({ operand: 0, strings: to }))
  expect(() => kept.keep(many)).toThrow('at most 1023 results of long strings, got 1025')
})
