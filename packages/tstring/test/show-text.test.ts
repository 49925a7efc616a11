import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { StringTensor } from '../src/index.ts'
import { Lifetime } from './lifetime.ts'

const words = ['zero', 'one', 'two', 'a string that is longer than a struct', 'žluťoučký kůň', '']

describe('console.log', () => {
  it('prints layout, shape and the first strings in one line', () => {
    const tensor = StringTensor.from(words, { shape: [2, 3] })
    expect(inspect(tensor)).toBe(
      'StringTensor tf[2, 3] ["zero", "one", "two", "a string that is longer than a struct", ... 2 more]',
    )
    expect(`${tensor.slice(0, 0)}`).toBe('StringTensor tf[0, 3] []')
    expect(inspect(StringTensor.from(['x\ny'.repeat(40)], { layout: 'tflite' }))).not.toContain('\n')
  })

  it('prints the reason if the strings cannot be read', () => {
    const lifetime = new Lifetime()
    const tensor = StringTensor.from(words, { allocator: lifetime })
    lifetime.close()
    expect(inspect(tensor)).toMatch(/^StringTensor tf\[6\] \(.*closed already\)$/)
  })
})

describe('JSON and structured clone', () => {
  it('JSON has all strings as nested arrays, and is refused after close()', () => {
    const tensor = StringTensor.from(words, { shape: [2, 3] })
    expect(JSON.parse(JSON.stringify({ tensor }))).toEqual({ tensor: [words.slice(0, 3), words.slice(3)] })
    expect(JSON.parse(JSON.stringify(tensor.slice(0, 0)))).toEqual([])
    expect(JSON.parse(JSON.stringify(StringTensor.from(words, { layout: 'tflite' })))).toEqual(words)
    expect(JSON.parse(JSON.stringify(tensor.toArray()))).toEqual(words)
    tensor.tensor()
    using closed = StringTensor.from(words, { storage: 'malloc' })
    closed.close()
    expect(() => JSON.stringify(closed)).toThrow('closed already')
  })

  it('a structured clone is refused with a sentence that says what to send', () => {
    const tensor = StringTensor.from(words)
    for (const value of [tensor, { nested: [tensor] }, tensor.slice(1)]) {
      expect(() => structuredClone(value)).toThrow(
        /a string tensor belongs to its thread.*post the bytes of a packed copy, or toArray\(\).*could not be cloned/,
      )
    }
    const packed = tensor.to('tflite')
    const copy = structuredClone(packed.bytes(3))
    expect(Buffer.from(copy).toString()).toBe(words[3])
  })
})
