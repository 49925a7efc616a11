import { ScopeClosedError, type Segment } from '@tenon/core'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub, VaList } from '../src/linker.ts'

/** An operation, and whether it works after the scope has closed. */
type Outcome = 'throws' | 'works'

interface Operation<Subject> {
  readonly run: (subject: Subject) => unknown
  readonly afterClose: Outcome
}

const throws = <Subject>(run: (subject: Subject) => unknown): Operation<Subject> => ({ run, afterClose: 'throws' })
const works = <Subject>(run: (subject: Subject) => unknown): Operation<Subject> => ({ run, afterClose: 'works' })

/** Runs an operation, which may be asynchronous. */
async function attempt<Subject>(run: (subject: Subject) => unknown, subject: Subject): Promise<void> {
  await run(subject)
}

const { int32, int64 } = MemoryLayout
const kinds = ['Int8', 'Uint8', 'Int16', 'Uint16', 'Int32', 'Uint32', 'Int64', 'Uint64', 'Float32', 'Float64']
const isWide = (kind: string): boolean => kind.includes('64') && !kind.startsWith('Float')
const anyMethod = (segment: MemorySegment, name: string, ...values: unknown[]): unknown =>
  (segment as unknown as Record<string, (...values: unknown[]) => unknown>)[name]!(...values)

/** Every method and getter of a segment. */
const segmentOperations: Record<string, Operation<MemorySegment>> = {
  ...Object.fromEntries(
    kinds.flatMap((kind) =>
      (kind.endsWith('8') ? [''] : ['', 'Unaligned']).flatMap((suffix) => [
        [`get${kind}${suffix}`, throws((segment: MemorySegment) => anyMethod(segment, `get${kind}${suffix}`, 0))],
        [
          `set${kind}${suffix}`,
          throws((segment: MemorySegment) => anyMethod(segment, `set${kind}${suffix}`, 0, isWide(kind) ? 1n : 1)),
        ],
      ]),
    ),
  ),
  getBool: throws((segment) => segment.getBool(0)),
  setBool: throws((segment) => segment.setBool(0, true)),
  getInt64AsNumber: throws((segment) => {
    segment.setInt64(0, 1)
    return segment.getInt64AsNumber(0)
  }),
  get: throws((segment) => segment.get(int32, 0)),
  set: throws((segment) => segment.set(int32, 0, 1)),
  getAtIndex: throws((segment) => segment.getAtIndex(int32, 0)),
  setAtIndex: throws((segment) => segment.setAtIndex(int32, 0, 1)),
  fill: throws((segment) => segment.fill(0)),
  copyFrom: throws((segment) => segment.copyFrom(MemorySegment.allocateNative(4))),
  mismatch: throws((segment) => segment.mismatch(MemorySegment.allocateNative(4))),
  toArray: throws((segment) => segment.toArray(int32)),
  getString: throws((segment) => segment.getString(0)),
  setString: throws((segment) => segment.setString(0, 'a')),
  atomicLoad: throws((segment) => segment.atomicLoad('int32', 0)),
  atomicStore: throws((segment) => segment.atomicStore('int32', 0, 1)),
  atomicUpdate: throws((segment) => segment.atomicUpdate('int32', 0, 'add', 1)),
  atomicCompareExchange: throws((segment) => segment.atomicCompareExchange('int32', 0, 1, 2)),
  atomicWait: throws((segment) =>
    segment.block.view.buffer instanceof SharedArrayBuffer ? segment.atomicWait('int32', 0, -1, 0) : segment.getInt8(0),
  ),
  atomicNotify: throws((segment) => segment.atomicNotify('int32', 0)),
  view: throws((segment) => segment.view()),
  pin: throws((segment) => segment.pin().release()),
  withView: throws((segment) => segment.withView(() => {})),
  withViewAsync: throws((segment) => segment.withViewAsync(async () => {})),
  unsafeView: throws((segment) => segment.unsafeView(Int32Array)),
  reinterpret: throws((segment) => segment.reinterpret(4)),
  force: throws((segment) => (segment.isMapped ? segment.force() : segment.getInt8(0))),
  load: throws((segment) => (segment.isMapped ? segment.load() : segment.getInt8(0))),
  isLoaded: throws((segment) => (segment.isMapped ? segment.isLoaded() : segment.getInt8(0))),
  unload: throws((segment) => (segment.isMapped ? segment.unload() : segment.getInt8(0))),
  elements: works((segment) => segment.elements(int32)),
  asSlice: works((segment) => segment.asSlice(4)),
  asReadOnly: works((segment) => segment.asReadOnly()),
  asOverlappingSlice: works((segment) => segment.asOverlappingSlice(segment)),
  isAccessibleBy: works((segment) => segment.isAccessibleBy(1)),
  equals: works((segment) => segment.equals(segment)),
  toString: works((segment) => String(segment)),
  scope: works((segment) => segment.scope),
  lifetime: works((segment) => segment.lifetime),
  address: works((segment) => segment.address),
  readOnly: works((segment) => segment.readOnly),
  isHeap: works((segment) => segment.isHeap),
  isLittleEndian: works((segment) => segment.isLittleEndian),
  moveTo: throws((segment) => (segment.scope.isAlive ? 0 : segment.moveTo(ResourceScope.ofConfined()))),
  share: throws((segment) => (segment.scope.isAlive ? 0 : segment.share())),
  isMapped: works((segment) => segment.isMapped),
}

const path = join(tmpdir(), `tenon-matrix-${process.pid}`)
writeFileSync(path, 'some bytes of a file, enough of them')

/** Every kind of memory that a scope can own. */
const memories: Record<string, () => { segment: MemorySegment; close: () => void }> = {
  'an arena': () => owned(NativeScope.ofConfined(), (scope) => scope.allocate(16)),
  'a shared arena': () => owned(NativeScope.ofShared(), (scope) => scope.allocate(16)),
  'a confined scope': () => owned(ResourceScope.ofConfined(), (scope) => MemorySegment.allocateNative(16, 16, scope)),
  'a shared scope': () => owned(ResourceScope.ofShared(), (scope) => MemorySegment.allocateNative(16, 16, scope)),
  'an attached scope': () => {
    const owner = NativeScope.ofShared()
    const { scope, segments } = ResourceScope.attach(owner.share({ segments: [owner.allocate(16)] }))
    return { segment: segments[0]!, close: () => scope.detach() }
  },
  'a scope that was handed over': () => {
    const giver = NativeScope.ofConfined()
    const { scope, segments } = ResourceScope.attach(giver.handoff([giver.allocate(16)]))
    return { segment: segments[0]!, close: () => scope.close() }
  },
  'a mapped file': () =>
    owned(ResourceScope.ofConfined(), (scope) =>
      MemorySegment.mapFile(path, scope, { access: 'write' }).asSlice(0, 16),
    ),
  'memory of native code': () => {
    const memory = MemorySegment.allocateNative(16, 16, ResourceScope.global)
    return owned(ResourceScope.ofConfined(), (scope) => MemorySegment.ofAddress(memory.address).reinterpret(16, scope))
  },
  'a slicing allocator': () =>
    owned(NativeScope.ofConfined(), (scope) => NativeAllocator.ofSlices(scope.allocate(64)).allocate(16)),
  'a prefix allocator': () =>
    owned(NativeScope.ofConfined(), (scope) => NativeAllocator.ofPrefix(scope.allocate(64)).allocate(16)),
  'a malloc allocator': () =>
    owned(ResourceScope.ofConfined(), (scope) => NativeAllocator.ofMalloc(() => scope).allocate(16)),
}

function owned<Scope extends { close(): void }>(scope: Scope, make: (scope: Scope) => MemorySegment) {
  return { segment: make(scope), close: () => scope.close() }
}

/** The names of all methods and getters of an object's classes. */
function namesOf(value: object): string[] {
  const names = new Set<string>()
  for (
    let type = Object.getPrototypeOf(value) as object;
    type !== Object.prototype;
    type = Object.getPrototypeOf(type) as object
  ) {
    for (const name of Object.getOwnPropertyNames(type)) if (name !== 'constructor') names.add(name)
  }
  return [...names].toSorted()
}

for (const [name, make] of Object.entries(memories)) {
  describe(`after close, memory of ${name}`, () => {
    const alive = make()
    const closed = make()
    closed.close()
    for (const [operation, { run, afterClose }] of Object.entries(segmentOperations)) {
      test(`${operation} ${afterClose}`, async () => {
        await attempt(run, alive.segment)
        if (afterClose === 'works') await attempt(run, closed.segment)
        else await expect(attempt(run, closed.segment)).rejects.toThrow(ScopeClosedError)
      })
    }
  })
}

interface Owner extends ReturnType<typeof NativeScope.ofConfined> {}

/** Every method and getter of a scope, except for those that close it, which have their own tests. */
const scopeOperations: Record<string, Operation<Owner>> = {
  addCloseAction: throws((scope) => scope.addCloseAction(() => {})),
  acquire: throws((scope) => scope.acquire().release()),
  checkAlive: throws((scope) => scope.checkAlive()),
  allocate: throws((scope) => scope.allocate(8)),
  allocateFrom: throws((scope) => scope.allocateFrom(int32, 1)),
  handoff: throws((scope) => (scope.isAlive ? 0 : scope.handoff([]))),
  share: throws((scope) => (scope as unknown as ReturnType<typeof NativeScope.ofShared>).share()),
  isAlive: works((scope) => scope.isAlive),
  name: works((scope) => scope.name),
  kind: works((scope) => scope.kind),
  toString: works((scope) => String(scope)),
  whenClosing: works((scope) => void (scope as unknown as ReturnType<typeof NativeScope.ofShared>).whenClosing()),
}

/** Functions that use a scope. */
const uses: Record<string, Operation<Owner>> = {
  'MemorySegment.allocateNative': throws((scope) => MemorySegment.allocateNative(8, 8, scope)),
  'MemorySegment.mapFile': throws((scope) => MemorySegment.mapFile(path, scope)),
  'MemorySegment#reinterpret': throws((scope) => MemorySegment.ofAddress(4096).reinterpret(8, scope)),
  toCString: throws((scope) => toCString('a', scope)),
  'NativeAllocator.allocate': throws((scope) => NativeAllocator.allocate(scope, int64, 2)),
  'NativeAllocator.allocateFrom': throws((scope) => NativeAllocator.allocateFrom(scope, int64, 2n)),
  'NativeAllocator.ofMalloc': throws((scope) => NativeAllocator.ofMalloc(() => scope).allocate(8)),
  'SymbolLookup.ofLibrary': throws((scope) => SymbolLookup.ofLibrary('libm.so.6', scope)),
  'Linker.upcallStub': throws((scope) => upcallStub(() => {}, {}, scope)),
  'VaList.ofArguments': throws((scope) => VaList.ofArguments(scope, () => {})),
  'Linker.downcall': throws((scope) =>
    Linker.downcall(SymbolLookup.ofProcess().get('div'), {
      result: MemoryLayout.struct({ q: int32, r: int32 }),
      parameters: ['int32', 'int32'],
    })(scope, 1, 1),
  ),
}

/** Methods that close a scope, and internal ones. */
const closers = new Set(['close', 'closeAsync', 'run', 'runAsync', 'detach'])
const internals = new Set([
  ...[
    'adopt',
    'addLastAction',
    'label',
    'seal',
    'release',
    'closedError',
    'checkOpen',
    'newBlock',
    'own',
    'disown',
    'makeChunk',
    'releaseOwned',
    'manage',
    'isHeld',
    'heldError',
    'usedByOthers',
    'endWaiting',
    'whenWaited',
  ],
  ...[
    'drain',
    'undrain',
    'endDrain',
    'allocateSlowly',
    'allocateInside',
    'isUntouched',
    'dropChunk',
    'nextChunk',
    'useChunk',
    'borrow',
    'useControl',
    'controlled',
    'others',
    'takeChunk',
    'retire',
    'giveBack',
  ],
])

for (const [name, open] of Object.entries({
  confined: () => NativeScope.ofConfined(),
  shared: () => NativeScope.ofShared(),
})) {
  describe(`after close, the ${name} scope`, () => {
    const [alive, closed] = [open(), open()] as unknown as [Owner, Owner]
    closed.close()
    for (const [operation, { run, afterClose }] of Object.entries({ ...scopeOperations, ...uses })) {
      if (operation in scopeOperations && !(operation in alive)) continue
      test(`${operation} ${afterClose}`, () => {
        expect(() => run(alive)).not.toThrow()
        if (afterClose === 'works') expect(() => run(closed)).not.toThrow()
        else expect(() => run(closed)).toThrow(ScopeClosedError)
      })
    }
  })
}

describe('the table', () => {
  test('has every operation of a segment', () => {
    expect(Object.keys(segmentOperations).toSorted()).toEqual(namesOf(MemorySegment.NULL))
  })

  test('has every operation of a scope', () => {
    const names = new Set([NativeScope.ofConfined(), NativeScope.ofShared()].flatMap((scope) => namesOf(scope)))
    const known = new Set([...Object.keys(scopeOperations), ...closers, ...internals])
    expect([...names].filter((name) => !known.has(name))).toEqual([])
    expect([...known].filter((name) => !names.has(name) && name !== 'name')).toEqual([])
  })
})

describe('on another thread', () => {
  for (const [name, make] of Object.entries(memories)) {
    test(`memory of ${name} cannot be sent`, () => {
      const { segment } = make()
      expect(() => structuredClone(segment)).toThrow(
        /cannot be posted to another thread: use share.* could not be cloned/,
      )
      expect(() => structuredClone({ inside: [segment.asSlice(4) as Segment] })).toThrow(/could not be cloned/)
    })
  }
})
