/** The examples of Panama's "State of foreign memory support" and of the mail "memory access - pulling all the threads", in their order. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from 'tenon/scope'
import { Linker, SymbolLookup } from 'tenon/scope/linker'

const { int32: JAVA_INT } = MemoryLayout
const newPoints = (): { x: number; y: number }[] => []

export function allocate(): void {
  const segment = MemorySegment.allocateNative(100)
  assert.equal(segment.byteSize, 100)
}

export function slicing(): void {
  const segment = MemorySegment.allocateNative(10)
  const slice = segment.asSlice(4, 4)
  assert.equal(slice.byteSize, 4)
}

export function dereference(): void {
  const segment = MemorySegment.allocateNative(10 * 4 * 2)
  const values = newPoints()
  for (let i = 0; i < 10; i++) {
    const x = segment.getAtIndex(JAVA_INT, i * 2)
    const y = segment.getAtIndex(JAVA_INT, i * 2 + 1)
    values[i] = { x, y }
  }
  assert.equal(values.length, 10)
}

export function bufferView(): void {
  const segment = MemorySegment.allocateNative(10 * 4 * 2, 4)
  const view = segment.view()
  const values = newPoints()
  for (let i = 0; i < 10; i++) {
    const x = view.getInt32(8 * i, true)
    const y = view.getInt32(8 * i + 4, true)
    values[i] = { x, y }
  }
  assert.equal(values.length, 10)
}

const POINTS = MemoryLayout.sequence(MemoryLayout.struct({ x: JAVA_INT, y: JAVA_INT }), 10)

export function layout(): void {
  const points = MemoryLayout.sequence(MemoryLayout.struct({ x: JAVA_INT, y: JAVA_INT }), 10)
  assert.equal(points.byteSize, 80)
}

export function byteOffset(): void {
  const y3 = MemoryLayout.byteOffset(POINTS, 3, 'y')
  assert.equal(y3, 28)
}

export function varHandles(): void {
  const segment = MemorySegment.allocateNative(POINTS)
  const xHandle = MemoryLayout.varHandle<number>(POINTS, MemoryLayout.element(), 'x')
  const yHandle = MemoryLayout.varHandle<number>(POINTS, MemoryLayout.element(), 'y')
  const values = newPoints()
  for (let i = 0; i < 10; i++) {
    const x = xHandle.get(segment, 0, i)
    const y = yHandle.get(segment, 0, i)
    values[i] = { x, y }
  }
  assert.equal(values.length, 10)
}

export function mappedFile(directory: string): void {
  writeFileSync(`${directory}/someFile`, Buffer.alloc(100_000))
  using scope = ResourceScope.ofConfined()
  const mapped = MemorySegment.mapFile(`${directory}/someFile`, scope, { access: 'write', byteSize: 100_000 })
  assert.equal(mapped.byteSize, 100_000)
} // the segment is unmapped here

export function manySegments(): void {
  using scope = ResourceScope.ofConfined()
  const segment1 = MemorySegment.allocateNative(100, scope)
  const segment2 = MemorySegment.allocateNative(100, scope)
  const segmentN = MemorySegment.allocateNative(100, scope)
  assert.ok([segment1, segment2, segmentN].every(({ scope: own }) => own === scope))
} // all segments are freed here

export function writePoint(): void {
  const write = (segment: MemorySegment, x: number, y: number): void => {
    segment.setAtIndex(JAVA_INT, 0, x)
    segment.setAtIndex(JAVA_INT, 1, y)
  }
  write(MemorySegment.allocateNative(8, 4), 3, 4)
}

export function writePointSafe(): void {
  const write = (segment: MemorySegment, x: number, y: number): void => {
    using hold = segment.scope.acquire() // the scope cannot be closed meanwhile
    segment.setAtIndex(JAVA_INT, 0, x)
    segment.setAtIndex(JAVA_INT, 1, y)
    assert.ok(hold)
  }
  write(MemorySegment.allocateNative(8, 4), 3, 4)
}

export function elements(): void {
  const seq = MemoryLayout.sequence(JAVA_INT, 1_000_000)
  const bulkElement = MemoryLayout.sequence(JAVA_INT, 100)

  using scope = ResourceScope.ofShared()
  const segment = MemorySegment.allocateNative(seq, scope)
  const sum = segment
    .elements(bulkElement)
    .map((slice) => {
      let res = 0
      for (let i = 0; i < 100; i++) res += slice.getAtIndex(JAVA_INT, i)
      return res
    })
    .reduce((a, b) => a + b)
  assert.equal(sum, 0)
}

export function standaloneHandle(): void {
  const intHandle = MemoryLayout.varHandle<number>(JAVA_INT) // (segment, offset) -> int
  assert.equal(intHandle.get(MemorySegment.allocateNative(8, 4), 4), 0)
}

export function insertCoordinates(): void {
  const intHandle = MemoryLayout.varHandle<number>(JAVA_INT)
  const offsetOfY = MemoryLayout.byteOffset(POINTS, 3, 'y')
  const valueHandle = (segment: MemorySegment): number => intHandle.get(segment, offsetOfY)
  assert.equal(valueHandle(MemorySegment.allocateNative(POINTS)), 0)
}

export function unsafeSegment(): void {
  using memory = NativeScope.ofConfined()
  const someLongAddr = memory.allocate(10).address
  using scope = ResourceScope.ofConfined()
  const addr = MemorySegment.ofAddress(someLongAddr)
  const unsafe = addr.reinterpret(10, scope)
  assert.equal(unsafe.byteSize, 10)
}

export function customAllocator(): void {
  const malloc = (size: number, align: number): MemorySegment =>
    MemorySegment.allocateNative(size, align, ResourceScope.ofConfined())
  assert.equal(toCString('Hello', malloc).getString(0), 'Hello')
}

export function ofMalloc(): void {
  const confinedMalloc = NativeAllocator.ofMalloc(ResourceScope.ofConfined)
  const sharedMalloc = NativeAllocator.ofMalloc(ResourceScope.ofShared)
  for (const { scope } of [confinedMalloc.allocate(8), sharedMalloc.allocate(8)]) scope.close()
}

export function nativeScope(): void {
  using scope = NativeScope.ofConfined() // an allocator, and a scope
  const hello = toCString('Hello', scope)
  const array = scope.allocateFrom(JAVA_INT, 1, 2, 3)
  assert.ok(hello.scope === array.scope)
}

export function structByValue(): void {
  using scope = NativeScope.ofConfined()
  const Div = MemoryLayout.struct({ quot: JAVA_INT, rem: JAVA_INT })
  const div = Linker.downcall(SymbolLookup.ofProcess().get('div'), { result: Div, parameters: ['int32', 'int32'] })
  assert.equal(div(scope, 17, 5).getAtIndex(JAVA_INT, 1), 2)
}
