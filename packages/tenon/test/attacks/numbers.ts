import type { Attempts } from './attempt.ts'

/** Counts, offsets and sizes at every limit, in every parameter. */
export const numbers: Attempts = {
  'offsets and sizes of memory': [
    `    const memory = MemorySegment.allocateNative(64, 64), int32 = S.MemoryLayout.int32
    for (const use of [(n) => memory.getInt32(n), (n) => memory.setInt32(n, n), (n) => memory.asSlice(n), (n) => memory.asSlice(0, n), (n) => memory.getAtIndex(int32, n), (n) => memory.setAtIndex(int32, n, 1), (n) => memory.get(int32, n), (n) => memory.getString(n), (n) => memory.setString(n, 'a'), (n) => memory.fill(n), (n) => MemorySegment.copy(memory, n, memory, 0, 8), (n) => MemorySegment.copy(memory, 0, memory, n, 8), (n) => MemorySegment.copy(memory, 0, memory, 0, n), (n) => memory.getInt64Unaligned(n), (n) => memory.atomicLoad(n, 'int32')]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 15, TENON_BOUNDS 6, gave 1, TENON_ARGUMENT 19, TENON_BOUNDS 2, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 18, TENON_BOUNDS 3, gave 1, TENON_ARGUMENT 18, TENON_BOUNDS 3, gave 1, TENON_ARGUMENT 15, TENON_BOUNDS 6, gave 1, TENON_ARGUMENT 15, TENON_BOUNDS 6, gave 1, TENON_ARGUMENT 15, TENON_BOUNDS 6, gave 1, TENON_ARGUMENT 21, gave 1, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 15, TENON_BOUNDS 6, gave 1, TENON_ARGUMENT 22',
  ],
  'sizes of allocations': [
    `    const scope = arena(), huge = new Set([2 ** 31 - 1, 2 ** 31, 2 ** 32])
    for (const use of [(n) => scope.allocate(n), (n) => scope.allocate(8, n), (n) => core.gcAllocator.allocate(n, 8), (n) => core.gcAllocator.allocate(8, n), (n) => MemorySegment.allocateNative(n, 8), (n) => tensor('f32', [n]), (n) => tensor('f32', [n, n]), (n) => tensor('f32', [0, n, n]), (n) => pools.createPool(n).close(), (n) => tensor(n, [1])]) tally(numbers.filter((n) => !huge.has(n)).map((n) => () => use(n)))`,
    'TENON_ALLOCATION 1, TENON_ARGUMENT 17, gave 1, TENON_ARGUMENT 19, TENON_ALLOCATION 1, TENON_ARGUMENT 17, gave 1, TENON_ARGUMENT 19, TENON_ALLOCATION 1, TENON_ARGUMENT 17, gave 1, TENON_ARGUMENT 17, gave 2, TENON_ARGUMENT 17, gave 2, TENON_ARGUMENT 17, gave 2, TENON_ARGUMENT 19, TENON_ARGUMENT 19',
  ],
  addresses: [
    `    for (const use of [(n) => MemorySegment.ofAddress(n).byteSize, (n) => MemorySegment.ofAddress(n).setInt8(0, 1), (n) => new P.OpaquePointer(n), (n) => echo(new P.OpaquePointer(n)), (n) => linker.VaList.ofPointer(n), (n) => MemorySegment.ofAddress(64n).asSlice(n, n)]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 17, gave 5, TENON_ARGUMENT 17, TENON_BOUNDS 5, gave 22, SyntaxError 2, TypeError 14, gave 6, TENON_ARGUMENT 22, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1',
  ],
  'attributes and shapes of custom calls': [
    `    for (const use of [(n) => f32(n), (n) => s32(n), (n) => s64(n), (n) => tenon.u8(n), (n) => tenon.array('s32', [n]), (n) => tenon.array('f64', n), (n) => tenon.ptr(n), (n) => f32([n]), (n) => tenon.tensorType('bf16', [n]), (n) => add.prepare({ operands: n, results: [type] }), (n) => add.prepare({ operands: [type, type], results: [type], deviceOrdinal: n }), (n) => add([make(), make()], { results: [type], alignment: n }), (n) => library.hostCall('do_custom_call', { apiVersion: n })]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 9, gave 13, TENON_ARGUMENT 17, gave 5, TENON_ARGUMENT 14, gave 8, TENON_ARGUMENT 20, gave 2, TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 21, gave 1, TENON_ARGUMENT 21, gave 1, TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 21, gave 1, TENON_ARGUMENT 20, gave 2, TENON_ARGUMENT 22, TENON_ARGUMENT 20, TENON_XLA 2',
  ],
  'arguments of packed functions': [
    `    for (const use of [(n) => echo(n), (n) => sum(n, n), (n) => P.shape([n]), (n) => P.int(n), (n) => P.float(n), (n) => P.device('cpu', n), (n) => P.dataType(n), (n) => echo([n, [n]]), (n) => echo(new Map([[n, n]])), (n) => call((x) => n, n), (n) => echo([1]).get(n)]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 1, TENON_PACKED_FUNC 2, gave 19, TENON_ARGUMENT 1, TENON_PACKED_FUNC 7, gave 14, TENON_ARGUMENT 1, TENON_PACKED_FUNC 14, gave 7, TENON_ARGUMENT 15, gave 7, TENON_ARGUMENT 10, gave 12, TENON_ARGUMENT 19, gave 3, TENON_ARGUMENT 21, TENON_PACKED_FUNC 1, TENON_ARGUMENT 1, TENON_PACKED_FUNC 2, gave 19, TENON_ARGUMENT 1, TENON_PACKED_FUNC 2, gave 19, TENON_ARGUMENT 1, TENON_PACKED_FUNC 2, gave 19, TENON_ARGUMENT 1, TENON_PACKED_FUNC 20, gave 1',
  ],
  'sums in parallel over negative and large counts': [
    `    const parallel = module.get('sum_in_parallel'), f = packedFunc((i) => i, { relay: true })
    for (const n of [-1, 0, 1, 257, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 0.5, NaN]) attempt(() => parallel(f, n) > -1)`,
    'TENON_PACKED_FUNC, gave true, gave true, TENON_PACKED_FUNC, TENON_PACKED_FUNC, TENON_PACKED_FUNC, TENON_PACKED_FUNC, TENON_PACKED_FUNC, TENON_PACKED_FUNC',
  ],
  'indices and counts of strings': [
    `    const own = StringTensor.from(['a', long, ''])
    for (const use of [(n) => own.get(n), (n) => own.set(n, 'b'), (n) => own.slice(n, n), (n) => own.gather([n]), (n) => own.reserve(n, 1), (n) => own.reserve(0, n === 2 ** 31 || n === 2 ** 31 - 1 || n === 2 ** 32 ? -1 : n), (n) => StringTensor.ofCapacity(n, 8), (n) => StringTensor.ofCapacity(1, n), (n) => own.chunks(n).next(), (n) => ts.decodeVarint(new Uint8Array(9).fill(255), n), (n) => StringTensor.from(['a'], { shape: [n] }), (n) => StringTensor.ofSegment(own.segment, { layout: 'tf', shape: [n] })]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 10, TENON_BOUNDS 11, gave 1, TENON_ARGUMENT 10, TENON_BOUNDS 11, gave 1, TENON_ARGUMENT 13, gave 9, TENON_BOUNDS 21, gave 1, TENON_ARGUMENT 11, TENON_BOUNDS 11, TENON_ARGUMENT 22, TENON_ALLOCATION 2, TENON_ARGUMENT 19, gave 1, TENON_ARGUMENT 21, gave 1, TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 17, TENON_BOUNDS 5, TENON_ARGUMENT 22, TENON_ARGUMENT 19, TENON_MALFORMED_TENSOR 2, gave 1',
  ],
  'offsets and dimensions of pools': [
    `    const pool = pools.createPool(4096)
    for (const use of [(n) => pool.slice(n, 8), (n) => pool.slice(0, n), (n) => pool.slice(n, n), (n) => pool.read(n, 8), (n) => pool.read(0, n), (n) => pool.write(n, new Uint8Array(8)), (n) => pools.operandSlice(pool, n, 'TENSOR_FLOAT32', [2]), (n) => pools.operandSlice(pool, 0, 'TENSOR_FLOAT32', [n, n]), (n) => pools.operandSlice(pool, 0, n, [2]), (n) => pools.createImagePool({ width: n, height: n, format: 'R8_UNORM' }), (n) => pools.importFence(n), (n) => pools.buildModel((g) => g.output(g.input('TENSOR_FLOAT32', [n])))]) tally(numbers.map((n) => () => use(n)))
    pool.close()`,
    'TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 7, TENON_POOLS 8, TypeError 3, gave 4, TENON_ARGUMENT 22, TENON_ARGUMENT 19, TENON_POOLS 3, TENON_ARGUMENT 15, TENON_POOLS 7, TENON_ARGUMENT 22',
  ],
  'signatures, layouts and variable arguments': [
    `    const { MemoryLayout } = S
    for (const use of [(n) => MemoryLayout.sequence(MemoryLayout.int32, n), (n) => MemoryLayout.padding(n), (n) => MemoryLayout.int32.withByteAlignment(n), (n) => MemoryLayout.struct({ a: n }), (n) => linker.Linker.downcall(libc.get('abs'), { result: n }), (n) => linker.Linker.downcall(libc.get('abs'), { parameters: [n] }), (n) => linker.Linker.downcall(libc.get('abs'), { result: 'int32', parameters: ['int32'], variadic: n }), (n) => link('abs', 'int32', 'int32')(n), (n) => linker.VaList.ofArguments((b) => b.int32(n), confined()), (n) => MemoryLayout.varHandle(MemoryLayout.sequence(MemoryLayout.int32, 4), MemoryLayout.element(n)), (n) => MemoryLayout.sequence(MemoryLayout.sequence(MemoryLayout.int64, 2 ** 30), 2 ** 30).byteSize]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 18, gave 4, TENON_ARGUMENT 22, TENON_ARGUMENT 17, TENON_BOUNDS 4, gave 1, TENON_ARGUMENT 22',
  ],
  'bytes of npy headers': [
    `    for (const use of [(n) => tenon.encodeNpyHeader({ dtype: 'float32', shape: [n] }), (n) => tenon.decodeNpy(n), (n) => tenon.decodeNpyHeader(n), (n) => tenon.encodeNpy(n), (n) => tenon.decodeNpy(new Uint8Array(16), n), (n) => binary.readBinary(n), (n) => tenon.readNpy(n), (n) => tenon.writeNpy('/absent/x', n)]) tally(numbers.map((n) => () => use(n)))`,
    'TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_ARGUMENT 22, TENON_NPY_FORMAT 22, ENOENT 2, ERR_INVALID_ARG_TYPE 20, ENOENT 1, TENON_ARGUMENT 21, TENON_ARGUMENT 22',
  ],
  'more arguments than a stack holds': [
    `    for (const count of [255, 256, 4096, 70_000]) tally([() => sum(...Array(count).fill(1)), () => add(Array(count).fill(make()), { results: [type] }), () => StringTensor.from(Array(count).fill('a')), () => linker.Linker.downcall(libc.get('abs'), { parameters: Array(count).fill('int32') }), () => P.shape(Array(count).fill(1)), () => C.batch(Array(Math.min(count, 5000)).fill({ call: add.prepare({ operands: [type, type], results: [type] }), operands: [make(), make()], results: [make()] })).run()])`,
    'TENON_XLA 1, gave 5, TENON_ARGUMENT 1, TENON_XLA 1, gave 4, TENON_ARGUMENT 1, TENON_XLA 1, gave 4, TENON_ARGUMENT 1, TENON_PACKED_FUNC 2, TENON_XLA 1, gave 2',
  ],
  'a tensor of 2^53 elements of no bytes': [
    `    attempt(() => tensor('f32', [0, 2 ** 52]).toArray().length); attempt(() => echo(tensor('f32', [2 ** 50, 0, 8]))); attempt(() => add([tensor('f32', [0]), tensor('f32', [0])], { results: [f32([0])] }).shape); attempt(() => tenon.decodeNpy(tenon.encodeNpy(tensor('f32', [0, 2 ** 40]))))`,
    'gave 0, gave Tensor, gave Array, gave Tensor',
  ],
}
