import { MemorySegment, NativeScope } from '@tenon/scope'
import { Linker, SymbolLookup } from '@tenon/scope/linker'
import { expect, test } from 'vitest'

const MEBIBYTE = 2 ** 20

test('reads all over the memory of a process give the collector little to count', () => {
  const mmap = Linker.downcall(SymbolLookup.ofProcess().get('mmap'), {
    result: 'pointer',
    parameters: ['pointer', 'uint64', 'int32', 'int32', 'int32', 'int64'],
  })
  const { address } = mmap(null, 1024 * MEBIBYTE, 1, 0x22, -1, 0)
  const before = process.memoryUsage().arrayBuffers
  let sum = 0
  for (let round = 0; round < 20; round++) {
    for (let at = 0; at < 1024; at++) sum += MemorySegment.ofAddress(address + BigInt(at * MEBIBYTE)).getInt32(64)
  }
  expect(sum).toBe(0)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * MEBIBYTE)
})

test('windows are made for places that are read often, and a number of them is kept', () => {
  using scope = NativeScope.ofConfined()
  const memory = scope.allocate(8, 8)
  const { address } = memory
  memory.setInt32(0, 5)
  const before = process.memoryUsage().arrayBuffers
  for (let i = 0; i < 100_000; i++) expect(MemorySegment.ofAddress(address).getInt32(0)).toBe(5)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * MEBIBYTE)
})
