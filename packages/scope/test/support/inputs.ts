import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../../src/index.ts'
import { Linker, SymbolLookup, upcallStub, VaList } from '../../src/linker.ts'

const path = join(tmpdir(), `tenon-bad-input-${process.pid}`)
writeFileSync(path, 'some bytes of a file')

/** The objects that the functions work on. */
export interface Place {
  readonly scope: ReturnType<typeof NativeScope.ofConfined>
  readonly shared: ReturnType<typeof NativeScope.ofShared>
  readonly segment: MemorySegment
  readonly other: MemorySegment
}

/** A function with valid arguments. */
export interface Row {
  readonly good: (place: Place) => readonly unknown[]
  readonly call: (place: Place, values: readonly never[]) => unknown
}

type Method = (...given: readonly never[]) => unknown

/** Calls a function without an object. */
const free =
  (run: (...given: never[]) => unknown): Row['call'] =>
  (_, given) =>
    run(...(given as never[]))

/** Calls a method of an object. */
const bound =
  (subjectOf: (place: Place) => object, name: string): Row['call'] =>
  (place, given) =>
    (subjectOf(place) as Record<string, Method>)[name]!(...given)

const { int32, address } = MemoryLayout
const point = MemoryLayout.struct({ x: int32, y: int32 })
const points = MemoryLayout.sequence(point, 4)
const pointHandle = MemoryLayout.varHandle(points, MemoryLayout.element())
const xHandle = MemoryLayout.varHandle(points, MemoryLayout.element(), 'x')
const strlen = SymbolLookup.ofProcess().get('strlen')
const length = Linker.downcall(strlen, { result: 'uint64', parameters: ['pointer'] })
const kinds = ['Int8', 'Uint8', 'Int16', 'Uint16', 'Int32', 'Uint32', 'Int64', 'Uint64', 'Float32', 'Float64']
const sized = (kind: string): string[] => (kind.endsWith('8') ? [kind] : [kind, `${kind}Unaligned`])
const onSegment = (name: string, good: Row['good']): [string, Row] => [
  name,
  { good, call: bound(({ segment }) => segment, name) },
]

/** Every method of a segment that takes arguments. */
export const ofSegments: Record<string, Row> = Object.fromEntries([
  ...kinds
    .flatMap(sized)
    .flatMap((kind) => [
      onSegment(`get${kind}`, () => [0, true]),
      onSegment(`set${kind}`, () => [0, /64(?:U|$)/.test(kind) && !kind.startsWith('F') ? 1n : 1, true]),
    ]),
  onSegment('getBool', () => [0]),
  onSegment('setBool', () => [0, true]),
  onSegment('getInt64AsNumber', () => [0, true]),
  onSegment('get', () => [int32, 0]),
  onSegment('set', () => [int32, 0, 1]),
  onSegment('getAtIndex', () => [int32, 0]),
  onSegment('setAtIndex', () => [int32, 0, 1]),
  onSegment('fill', () => [1]),
  onSegment('copyFrom', ({ other }) => [other]),
  onSegment('mismatch', ({ other }) => [other]),
  onSegment('toArray', () => [int32]),
  onSegment('elements', () => [int32]),
  onSegment('getString', () => [0, 'utf-8', 1]),
  onSegment('setString', () => [0, 'a', { charset: 'utf-8', nul: 'error' }]),
  onSegment('atomicLoad', () => ['int32', 0]),
  onSegment('atomicStore', () => ['int32', 0, 1]),
  onSegment('atomicUpdate', () => ['int32', 0, 'add', 1]),
  onSegment('atomicCompareExchange', () => ['int32', 0, 0, 1]),
  onSegment('atomicNotify', () => ['int32', 0, 1]),
  [
    'atomicWait',
    {
      good: () => ['int32', 0, -1, 0],
      call: bound(({ shared }) => shared.allocate(8), 'atomicWait'),
    },
  ],
  onSegment('asSlice', () => [0, 8, 8]),
  onSegment('asOverlappingSlice', ({ other }) => [other]),
  onSegment('reinterpret', ({ scope }) => [8, scope, () => {}]),
  onSegment('moveTo', ({ scope }) => [scope]),
  onSegment('equals', ({ other }) => [other]),
  onSegment('isAccessibleBy', () => [1]),
  onSegment('withView', () => [() => {}]),
  onSegment('withViewAsync', () => [async () => {}]),
  onSegment('unsafeView', () => [Int32Array]),
])

const scopes = { ofConfined: NativeScope.ofConfined, ofShared: NativeScope.ofShared, ofPlain: ResourceScope.ofConfined }

/** All other functions. */
export const others: Record<string, Row> = {
  'MemorySegment.allocateNative': {
    good: ({ scope }) => [8, 8, scope],
    call: free(MemorySegment.allocateNative),
  },
  'MemorySegment.ofBuffer': {
    good: () => [new Uint8Array(8)],
    call: free(MemorySegment.ofBuffer),
  },
  'MemorySegment.ofAddress': {
    good: () => [4096n],
    call: free(MemorySegment.ofAddress),
  },
  'MemorySegment.ofSegment': {
    good: ({ segment }) => [segment],
    call: free(MemorySegment.ofSegment),
  },
  'MemorySegment.mapFile': {
    good: ({ scope }) => [path, scope, { access: 'read', byteOffset: 0, byteSize: 4 }],
    call: free(MemorySegment.mapFile),
  },
  'MemorySegment.copy': {
    good: ({ segment, other }) => [segment, int32, 0, other, int32, 0, 2],
    call: free(MemorySegment.copy),
  },
  'NativeScope#allocate': {
    good: () => [8, 8],
    call: bound(({ scope }) => scope, 'allocate'),
  },
  'NativeScope#allocate, shared': {
    good: () => [8, 8],
    call: bound(({ shared }) => shared, 'allocate'),
  },
  'NativeScope#addCloseAction': {
    good: () => [() => {}],
    call: bound(({ scope }) => scope, 'addCloseAction'),
  },
  'ResourceScope.attach': {
    good: ({ shared }) => [shared.share()],
    call: (_, [token]) => finish(ResourceScope.attach(token!).scope),
  },
  'SharedScope#share': {
    good: ({ shared }) => [{ segments: [shared.allocate(8)] }],
    call: bound(({ shared }) => shared, 'share'),
  },
  ...Object.fromEntries(
    Object.entries(scopes).map(([name, open]): [string, Row] => [
      `${name}()`,
      { good: () => [{ name: 'any', managed: false }], call: (_, [options]) => finish(open(options)) },
    ]),
  ),
  'run()': {
    good: () => [() => {}],
    call: (_, [use]) => {
      const scope = NativeScope.ofConfined()
      try {
        return scope.run(use!)
      } finally {
        scope[Symbol.dispose]()
      }
    },
  },
  toCString: {
    good: ({ scope }) => ['text', scope, { nul: 'allow', charset: 'utf-8' }],
    call: free(toCString),
  },
  'NativeAllocator.ofMalloc': {
    good: ({ scope }) => [() => scope],
    call: (_, [given]) => NativeAllocator.ofMalloc(given!).allocate(8),
  },
  'NativeAllocator.ofSlices': {
    good: ({ segment }) => [segment],
    call: (_, [given]) => NativeAllocator.ofSlices(given!).allocate(8),
  },
  'NativeAllocator.ofPrefix': {
    good: ({ segment }) => [segment],
    call: (_, [given]) => NativeAllocator.ofPrefix(given!).allocate(8),
  },
  'slicing allocator': {
    good: () => [8, 8],
    call: bound(({ segment }) => NativeAllocator.ofSlices(segment), 'allocate'),
  },
  'prefix allocator': {
    good: () => [8, 8],
    call: bound(({ segment }) => NativeAllocator.ofPrefix(segment), 'allocate'),
  },
  'malloc allocator': {
    good: () => [8, 8],
    call: bound(({ scope }) => NativeAllocator.ofMalloc(() => scope), 'allocate'),
  },
  'NativeAllocator.allocate': {
    good: ({ scope }) => [scope, int32, 2],
    call: free(NativeAllocator.allocate),
  },
  'NativeAllocator.allocateFrom': {
    good: ({ scope }) => [scope, int32, 1, 2],
    call: free(NativeAllocator.allocateFrom),
  },
  'MemoryLayout.struct': {
    good: () => [{ x: int32 }],
    call: free(MemoryLayout.struct),
  },
  'MemoryLayout.struct, a member': {
    good: () => [int32],
    call: (_, [member]) => MemoryLayout.struct({ x: member! }),
  },
  'MemoryLayout.union': {
    good: () => [{ x: int32 }],
    call: free(MemoryLayout.union),
  },
  'MemoryLayout.sequence': {
    good: () => [int32, 4],
    call: free(MemoryLayout.sequence),
  },
  'MemoryLayout.padding': {
    good: () => [4],
    call: free(MemoryLayout.padding),
  },
  'MemoryLayout.element': {
    good: () => [0, 1],
    call: (_, [start, step]) => MemoryLayout.varHandle(points, MemoryLayout.element(start, step)),
  },
  'MemoryLayout.varHandle': {
    good: () => [points, 1, 'x'],
    call: free(MemoryLayout.varHandle),
  },
  'MemoryLayout.select': {
    good: () => [points, 1, 'x'],
    call: free(MemoryLayout.select),
  },
  'MemoryLayout.byteOffset': {
    good: () => [points, 1, 'x'],
    call: free(MemoryLayout.byteOffset),
  },
  'MemoryLayout.accessor': {
    good: () => [point],
    call: free(MemoryLayout.accessor),
  },
  'Accessor.at': {
    good: ({ segment }) => [segment, 0],
    call: (_, [segment, byteOffset]) => MemoryLayout.accessor(point).at(segment!, byteOffset).x,
  },
  'Accessor.each': {
    good: ({ segment }) => [segment],
    call: (_, [segment]) => [...MemoryLayout.accessor(point).each(segment!)],
  },
  'Accessor, set': {
    good: () => [1],
    call: ({ segment }, [value]) => void (MemoryLayout.accessor(point).at(segment).x = value!),
  },
  'VarHandle#get': {
    good: ({ segment }) => [segment, 0, 1],
    call: bound(() => xHandle, 'get'),
  },
  'VarHandle#set': {
    good: ({ segment }) => [segment, 0, 1, 1],
    call: bound(() => xHandle, 'set'),
  },
  'VarHandle#slice': {
    good: ({ segment }) => [segment, 0, 1],
    call: bound(() => pointHandle, 'slice'),
  },
  'VarHandle#byteOffset': {
    good: () => [1],
    call: bound(() => pointHandle, 'byteOffset'),
  },
  'Layout#withName': { good: () => ['x'], call: bound(() => point, 'withName') },
  'Layout#withByteAlignment': {
    good: () => [8],
    call: bound(() => int32, 'withByteAlignment'),
  },
  'Layout#equals': { good: () => [point], call: bound(() => point, 'equals') },
  'ValueLayout#withOrder': { good: () => ['big'], call: bound(() => int32, 'withOrder') },
  'AddressLayout#withOrder': {
    good: () => ['big'],
    call: bound(() => address, 'withOrder'),
  },
  'AddressLayout#withTargetLayout': {
    good: () => [int32],
    call: bound(() => address, 'withTargetLayout'),
  },
  'GroupLayout#member': { good: () => ['x'], call: bound(() => point, 'member') },
  'SequenceLayout#withElementCount': {
    good: () => [2],
    call: bound(() => points, 'withElementCount'),
  },
  'SequenceLayout#reshape': {
    good: () => [2, -1],
    call: bound(() => points, 'reshape'),
  },
  'an address, written': {
    good: ({ other }) => [other],
    call: ({ segment }, [value]) => segment.set(address, 0, value!),
  },
  'a struct, written': {
    good: ({ other }) => [other.asSlice(0, 8)],
    call: ({ segment }, [value]) => segment.set(point, 0, value!),
  },
  'SymbolLookup.ofLibrary': {
    good: ({ scope }) => ['libm.so.6', scope],
    call: free(SymbolLookup.ofLibrary),
  },
  'SymbolLookup#find': {
    good: () => ['strlen'],
    call: bound(() => SymbolLookup.ofProcess(), 'find'),
  },
  'SymbolLookup#get': {
    good: () => ['strlen'],
    call: bound(() => SymbolLookup.ofProcess(), 'get'),
  },
  'Linker.downcall': {
    good: () => [strlen, { result: 'uint64', parameters: ['pointer'] }, { captureErrno: false }],
    call: free(Linker.downcall),
  },
  'a type of a signature': {
    good: () => ['pointer'],
    call: (_, [type]) => Linker.downcall(strlen, { parameters: [type!] }),
  },
  'the result of a signature': {
    good: () => ['pointer'],
    call: (_, [type]) => Linker.downcall(strlen, { result: type! }),
  },
  'the fixed parameters of a signature': {
    good: () => [1],
    call: (_, [count]) =>
      Linker.downcall(strlen, { parameters: ['pointer'], ...(count === undefined ? {} : { fixedParameters: count }) }),
  },
  'a call': {
    good: ({ segment }) => [segment.setInt8(0, 0) ?? segment],
    // The null pointer is legal, and strlen() reads it.
    call: (_, given) => (given[0] === null ? undefined : length(...(given as [never]))),
  },
  upcallStub: {
    good: ({ scope }) => [() => {}, { result: 'void', parameters: [] }, scope],
    call: free(upcallStub),
  },
  'VaList.ofArguments': {
    good: ({ scope }) => [scope, () => {}],
    call: free(VaList.ofArguments),
  },
  'VaList.ofPointer': { good: ({ segment }) => [segment], call: free(VaList.ofPointer) },
  'VaList#copy': {
    good: ({ scope }) => [scope],
    call: bound(({ scope }) => VaList.ofArguments(scope, () => {}), 'copy'),
  },
  ...Object.fromEntries(
    (['int32', 'uint32', 'int64', 'uint64', 'float64', 'pointer'] as const).map((kind): [string, Row] => [
      `VaListBuilder#${kind}`,
      {
        good: ({ segment }) => [kind === 'pointer' ? segment : 1],
        call: ({ scope }, [value]) => VaList.ofArguments(scope, (builder) => builder[kind](value!)),
      },
    ]),
  ),
  'VaCursor#skip': {
    good: () => ['integer'],
    call: ({ scope }, [kind]) => {
      const list = VaList.ofArguments(scope, (builder) => builder.int32(1))
      list.arguments().skip(kind!)
    },
  },
}

export function finish(scope: Disposable): void {
  scope[Symbol.dispose]()
}
