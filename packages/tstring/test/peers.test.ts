import { util } from '@tensorflow/tfjs-core'
import { makeData, makeVector, Utf8, vectorFromArray } from 'apache-arrow'
import { Builder, ByteBuffer } from 'flatbuffers'
import protobuf from 'protobufjs'
import { describe, expect, it } from 'vitest'
import { StringTensor } from '../src/index.ts'
import { memory } from './helpers.ts'

// The statements of the README's table about other libraries, in the versions that are installed here. If a test fails because
// a library improved, change the table.

const message = new protobuf.Type('Strings').add(new protobuf.Field('strings', 1, 'string', 'repeated'))
const throughArrow = (text: string): string | null => vectorFromArray([text], new Utf8()).get(0)
const throughProtobuf = (text: string): string =>
  (message.decode(message.encode({ strings: [text] }).finish()) as unknown as { strings: string[] }).strings[0]!
const throughTfjs = (text: string): string => util.decodeString(util.encodeString(text))

/** Returns a buffer of flatbuffers with one string, and the string's offset. */
function flatbuffer(text: string): { buffer: ByteBuffer; at: number } {
  const builder = new Builder(64)
  builder.finish(builder.createString(text))
  const buffer = new ByteBuffer(builder.asUint8Array().slice())
  return { buffer, at: buffer.position() }
}
// oxlint-disable-next-line no-underscore-dangle -- how generated code reads a string
const stringAt = (buffer: ByteBuffer, at: number): unknown => buffer.__string(at)
const throughFlatbuffers = (text: string): unknown => {
  const { buffer, at } = flatbuffer(text)
  return stringAt(buffer, at)
}
const ours = (text: string): string => StringTensor.from([text]).get(0)

describe('other libraries', () => {
  it('keep a NUL', () => {
    for (const through of [throughArrow, throughProtobuf, throughTfjs, throughFlatbuffers, ours])
      expect(through('a\0b')).toBe('a\0b')
  })

  it('lose a leading BOM in Arrow JS, flatbuffers and tfjs', () => {
    for (const through of [throughArrow, throughFlatbuffers, throughTfjs]) expect(through('\ufeffa')).toBe('a')
    for (const through of [throughProtobuf, ours]) expect(through('\ufeffa')).toBe('\ufeffa')
  })

  it('write a lone surrogate as U+FFFD, except protobufjs, which writes invalid UTF-8', () => {
    for (const through of [throughArrow, throughTfjs, throughFlatbuffers, ours])
      expect(through('a\ud800')).toBe('a\ufffd')
    expect(throughProtobuf('a\ud800')).toBe('a\ufffd\ufffd\ufffd')
    expect(() => StringTensor.from(['a\ud800'], { invalid: 'throw' })).toThrow(/lone surrogate/)
  })

  it('cut hostile offsets silently in Arrow JS', () => {
    const data = makeData({
      type: new Utf8(),
      length: 1,
      data: Buffer.from('abc'),
      valueOffsets: Int32Array.of(0, 1000),
    })
    expect(makeVector(data).get(0)).toBe('abc')
    expect(() => StringTensor.ofArrowUtf8(Buffer.from('abc'), Int32Array.of(0, 1000))).toThrow(/arrow-range/)
  })

  it('cut hostile lengths silently in flatbuffers', () => {
    const { buffer, at } = flatbuffer('abc')
    buffer.writeInt32(at + buffer.readInt32(at), 1_000_000)
    expect(stringAt(buffer, at)).toBe('abc\0')
    const tflite = Buffer.from('010000000c00000040420f00616263', 'hex')
    expect(() => StringTensor.ofSegment(memory(tflite), { layout: 'tflite', abi: 'le64' })).toThrow(/tflite-range/)
  })

  it('throw for a hostile length in protobufjs', () => {
    expect(() => message.decode(Buffer.from('0a7f616263', 'hex'))).toThrow(RangeError)
  })
})
