import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { ArgumentError, ArgumentRangeError, ScopeClosedError, UnsupportedError } from '@tenon/core'
import {
  deepCopy,
  fromJSONGraph,
  getGlobal,
  kwargs,
  methodOf,
  NativeArray,
  type NativeMap,
  NativeObject,
  objectClass,
  PackedFunc,
  PackedFuncTypeError,
  registerClass,
  structuralEqual,
  structuralHash,
  toJSONGraph,
  type Kwargs,
} from '../../src/index.ts'
import { collect, collectAll, kernel, live, thrownBy } from '../support.ts'
import { fixture, liveObjects, make, type Any, type AnyClass } from './fixture.ts'

const { Point, Point3, Record, Node, Custom, Hostile } = fixture as Record<string, AnyClass> & { Point: AnyClass }

afterEach(() => {
  for (const key of ['fixture.Point', 'fixture.Point3', 'fixture.Record', 'ffi.List'])
    registerClass(key, key === 'ffi.List' ? NativeArray : fixture[key.slice(8)]!)
})

describe('containers', () => {
  it('an ffi.List changes, and an ffi.Array does not', () => {
    const list = getGlobal('ffi.List')(1, 2) as NativeArray<number>
    expect([list.push(3, 4), list.push(), list.pop(), list.set(0, 9).toArray()]).toEqual([4, 4, 4, [9, 2, 3]])
    list.insert(0, 'first')
    list.insert(4, 'last')
    expect(list.toArray()).toEqual(['first', 9, 2, 3, 'last'])
    // A negative zero is a zero, as for an array of JavaScript.
    list.insert(-0, 0)
    expect([list.get(-0), list.set(-0, 'first').get(0), list.size]).toEqual([0, 'first', 6])
    list.pop()
    for (const index of [-1, 7, 0.5, NaN, 2 ** 40, '0' as never])
      expect(() => list.insert(index, 1)).toThrow(ArgumentRangeError)
    expect(() => list.set(5, 1)).toThrow(RangeError)
    list.clear()
    expect([list.size, list.pop()]).toEqual([0, undefined])
    const array = kernel('echo')([1]) as NativeArray
    for (const change of [
      () => array.set(0, 1),
      () => array.push(1),
      () => array.push(),
      () => array.pop(),
      () => array.insert(0, 1),
      () => array.clear(),
    ]) {
      const error = thrownBy(change) as PackedFuncTypeError
      expect(error).toBeInstanceOf(PackedFuncTypeError)
      expect([error.sentence, error.hint]).toEqual(['an ffi.Array cannot change', 'Make an ffi.List of it.'])
    }
  })

  it('an ffi.Dict changes, and an ffi.Map does not', () => {
    const dict = getGlobal('ffi.Dict')('a', 1) as NativeMap<string, number>
    expect([dict.set('b', 2).get('b'), dict.delete('a'), dict.delete('a'), dict.size]).toEqual([2, true, false, 1])
    dict.clear()
    expect(dict.size).toBe(0)
    const map = kernel('echo')(new Map([[1, 2]])) as NativeMap
    for (const change of [() => map.set(1, 1), () => map.delete(1), () => map.clear()])
      expect(change).toThrow('an ffi.Map cannot change')
  })
})

describe('constructors', () => {
  it('new calls the constructor of exactly this type', () => {
    using point = new Point(4, 2)
    expect([point['x'], point['y'], point instanceof Point, point.typeKey]).toEqual([4, 2, true, 'fixture.Point'])
    expect(() => new Point('4')).toThrow('Expected (int, float)')
    const error = thrownBy(() => new Point3!(1)) as PackedFuncTypeError
    expect(error.sentence).toBe('Point3 has no constructor')
    const noPoint = thrownBy(() => new fixture['Growing']!()) as PackedFuncTypeError
    expect(noPoint.sentence).toBe('Growing has no constructor')
    const before = liveObjects()
    expect(() => new Hostile!()).toThrow(
      'the constructor of fixture.Hostile must return an object of this type, got int',
    )
    expect(liveObjects()).toBe(before)
    expect(() => (Point as unknown as () => void)()).toThrow(TypeError)
    class Doubled extends Point {
      readonly label: string
      constructor(x: number, label = 'none') {
        super(2 * x)
        this.label = label
      }
      get half(): number {
        return (this as Any)['x'] / 2
      }
    }
    using doubled = new Doubled(3, 'mine')
    expect([doubled.half, doubled.label, doubled instanceof Point, doubled.constructor]).toEqual([
      3,
      'mine',
      true,
      Doubled,
    ])
    expect(Object.keys(doubled)).toEqual(['label'])
    const later = Reflect.construct(Point, [1], Doubled) as Doubled
    expect(later.half).toBe(0.5)
  })

  it('optional parameters at the end of a constructor may be left out', () => {
    const { Box } = fixture as Record<string, AnyClass> & { Box: AnyClass }
    const lengths = [new Box(1), new Box(1, null), new Box(1, 2), new Box(1, 2, 3)].map(
      (box) => box['isShort'] as number,
    )
    expect(lengths).toEqual([1, 1, 0, 0])
    for (const values of [[], [1, 2, 3, 4]]) expect(() => new Box(...values)).toThrow('Expected 3 arguments')
  })

  it('a constructor that throws leaves no object', () => {
    const before = live().held
    class Failing extends Point {
      constructor() {
        super('not a number')
      }
    }
    expect(() => new Failing()).toThrow(PackedFuncTypeError)
    expect(live().held).toBe(before)
  })

  it('kwargs() names values for a constructor from fields', () => {
    using one = new Record!(kwargs({ any: 'x', number: 3 }))
    expect([one['number'], one['any']]).toEqual([3, 'x'])
    using two = new Record!(5, kwargs({ any: null, number: undefined }))
    expect([two['number'], two['any']]).toEqual([5, null])
    expect(() => new Record!(kwargs({ unlike: 1 }))).toThrow('unexpected keyword argument')
    const refused = thrownBy(() => new Point(kwargs({ x: 1 }))) as ArgumentError
    expect(refused.sentence).toBe('the constructor of Point must get values without names, got kwargs(x)')
    expect(() => new Record!(kwargs({ any: 1 }) as never, 2)).toThrow(
      'kwargs() must be the last argument, got argument 1',
    )
    for (const values of [null, 1, [1], new Map(), undefined])
      expect(() => kwargs(values as never)).toThrow(ArgumentError)
    let reads = 0
    const getter = Object.defineProperty({}, 'number', { enumerable: true, get: () => ++reads })
    const read: Kwargs = kwargs(getter as never)
    expect([new Record!(read)['number'], reads]).toEqual([1, 1])
    expect(() => kernel('echo')(read as never)).toThrow(PackedFuncTypeError)
  })
})

describe('wrapping', () => {
  it('an object gets the class of its runtime type', () => {
    class MyPoint extends Point {}
    using three = Point['three']() as Any
    expect(three.constructor).toBe(Point3)
    expect(registerClass('fixture.Point', MyPoint)).toBe(MyPoint)
    expect((Point['fromNumber'](1) as Any).constructor).toBe(MyPoint)
    expect((Point['three']() as Any).constructor).toBe(MyPoint) // that of the nearest ancestor
    class MyPoint3 extends Point3! {}
    registerClass('fixture.Point3', MyPoint3)
    expect((Point['three']() as Any).constructor).toBe(MyPoint3)
    expect(objectClass('fixture.Point')).toBe(MyPoint)
    expect(three.constructor).toBe(Point3)
  })

  it('registerClass() takes classes that extend that of the type', () => {
    let constructed = 0
    class Mine extends Point {
      field = 1
      constructor() {
        super(1)
        constructed++
      }
      describe(): string {
        return `at ${(this as Any)['x']}`
      }
    }
    registerClass('fixture.Point', Mine)
    const read = Point['fromNumber'](3) as Mine
    expect([read.describe(), read.field, constructed, read instanceof Mine]).toEqual(['at 3', undefined, 0, true])
    class Other extends Point {}
    registerClass('fixture.Point', Other)
    expect((Point['fromNumber'](3) as Any).constructor).toBe(Other)
    const hostile = [
      NativeObject,
      Record,
      null,
      1,
      {},
      () => {},
      Point.bind(null),
      new Proxy(Record!, {}),
      Object.create(Point),
    ]
    for (const made of hostile) expect(() => registerClass('fixture.Point', made as never)).toThrow(ArgumentError)
    expect(() => registerClass('fixture.Nothing', Other)).toThrow("no type 'fixture.Nothing' is registered")
  })

  it('classes of containers and functions can be registered', () => {
    class Items extends NativeArray {
      last(): unknown {
        return this.get(this.size - 1)
      }
    }
    registerClass('ffi.List', Items as never)
    const list = getGlobal('ffi.List')(1, 2) as Items
    expect([list.last(), list instanceof Items, (kernel('echo')([1]) as Items) instanceof Items]).toEqual([
      2,
      true,
      false,
    ])
    expect(() => registerClass('ffi.List', PackedFunc as never)).toThrow('must extend its class NativeArray')
  })

  it('wrapping runs no constructor, also of the base class', () => {
    const hidden = Object.getOwnPropertyDescriptor(Point, 'prototype')!
    expect([hidden.writable, hidden.configurable]).toEqual([false, false])
    using point = Point['fromNumber'](1) as Any
    expect(Object.getPrototypeOf(point)).toBe(Point.prototype)
  })

  it('two reads are two values for the same object', () => {
    using point = new Point(1)
    using record = new Record!(1, point)
    const [a, b] = [record['any'] as Any, record['any'] as Any]
    expect(a === b).toBe(false)
    expect([
      a.sameAs(b),
      point.sameAs(a),
      a.sameAs(new Point(1)),
      a.sameAs(null),
      a.sameAs({}),
      a.sameAs(new Proxy(b, {})),
    ]).toEqual([true, true, false, false, false, false])
    b.close()
    expect([a.sameAs(b), b.sameAs(a), b.sameAs(b)]).toEqual([false, false, false])
  })

  it('instanceof follows the hierarchy, and objects have no keys', () => {
    using three = Point['three']() as Any
    expect([
      three instanceof Point3!,
      three instanceof Point,
      three instanceof NativeObject,
      three instanceof Record!,
    ]).toEqual([true, true, true, false])
    expect([Object.keys(three), Reflect.ownKeys(three), JSON.stringify(three), { ...three }]).toEqual([
      [],
      [],
      '{}',
      {},
    ])
    expect(Object.keys(getGlobal('ffi.List')() as NativeObject)).toEqual([])
    expect(three.as(Point)).toBe(three)
    const error = thrownBy(() => three.as(Record!)) as PackedFuncTypeError
    expect([error instanceof PackedFuncTypeError, error.sentence]).toEqual([
      true,
      'the object must be a Record, got [fixture.Point3]',
    ])
    for (const type of [null, {}, () => {}]) expect(() => three.as(type as never)).toThrow('type must be a class')
    expect(() => structuredClone(three)).toThrow('Cannot clone object')
  })
})

describe('texts', () => {
  it('inspect prints the fields', () => {
    const point = new Point(1, 2)
    expect(inspect(point)).toBe('Point { x: 1, y: 2 }')
    expect(inspect(make('Hostile'))).toContain('fails: <error: this field cannot be read>')
    using node = new Node!(1, point)
    expect(inspect(node)).toBe('Node { number: 1, any: Point { x: 1, y: 2 } }')
    expect(inspect(node, { depth: 0 })).toBe('Node { number: 1, any: [Point] }')
    expect(inspect([[[[node]]]])).toContain('[Array]')
    node['any'] = node
    expect(inspect(node, { depth: Infinity })).toBe('Node { number: 1, any: [Circular] }')
    expect(inspect(node, { depth: null })).toBe('Node { number: 1, any: [Circular] }')
    node['any'] = null
    class Titled extends Point {}
    expect(inspect(new Titled(1))).toBe('Titled { x: 1, y: 0.5 }')
    point.close()
    expect(inspect(point)).toBe('Point { closed }')
    expect(inspect(Point.prototype)).toBeTypeOf('string')
  })

  // Bun takes 400 times as long as Node.js for plain objects that are nested so deeply.
  it('inspect prints 2000 objects inside of each other', { timeout: 600_000 }, () => {
    let chain = new Node!(0, null)
    for (let i = 0; i < 2000; i++) chain = new Node!(i, chain)
    expect(inspect(chain, { depth: null })).toContain('number: 1999')
  })

  it("toString() is the library's, else it shows the fields", () => {
    using point = new Point(1)
    expect(String(point)).toBe('a point')
    point['x'] = 13
    expect(() => String(point)).toThrow('no text for 13')
    using record = new Record!(1, 'with "quotes"')
    expect(String(record)).toBe('fixture.Record(number=1, any="with \\"quotes\\"")')
    using node = new Node!(2, [record, 1.5, true, null])
    expect(String(node)).toBe(
      'fixture.Node(number=2, any=[fixture.Record(number=1, any="with \\"quotes\\""), 1.5, true, null])',
    )
    const list = getGlobal('ffi.List')() as NativeArray
    list.push(node)
    node['any'] = list
    expect(String(node)).toBe('fixture.Node(number=2, any=[...])')
    expect(String(new Custom!(1, [1, 'x', new Map([['k', node]])]))).toBe(
      '<custom [1, "x", {"k": fixture.Node(number=2, any=[...])}]>',
    )
    list.clear()
    expect(String(make('Box'))).toBe('fixture.Box(is_short=0)')
    record.close()
    expect(String(record)).toBe('[fixture.Record, closed]')
  })
})

describe('the life of objects', () => {
  it('an object dies with its last native reference', () => {
    const before = liveObjects()
    const point = new Point(1)
    const record = new Record!(1, point)
    point.close()
    expect(liveObjects() - before).toBe(2)
    expect((record['any'] as Any)['x']).toBe(1)
    ;(record['any'] as Any).close()
    record.close()
    expect(() => record.close()).toThrow(ScopeClosedError)
    record[Symbol.dispose]()
    expect(liveObjects() - before).toBeLessThanOrEqual(1) // the value of the first read is collected later
  })

  it('10^5 constructions and reads of fields leak nothing', { timeout: 120_000 }, async () => {
    const box = make('Box')
    const round = (): void => {
      const point = new Point(1)
      const record = new Record!(1, point)
      ;(record['any'] as Any).close()
      void record['number']
      box['arrays']()
      for (const object of [point, record]) object.close()
    }
    for (let i = 0; i < 1000; i++) round()
    await collectAll()
    const before = { ...live(), objects: liveObjects() }
    for (let i = 0; i < 50_000; i++) round()
    const leave = (): void => void new Record!(1, new Point(1))['any']
    for (let i = 0; i < 10_000; i++) leave()
    const more = (): number[] => {
      const { native, held } = live()
      return [liveObjects() - before.objects, native - before.native, held - before.held]
    }
    await collect(() => more().every((count) => count <= 0))
    expect(more().map((count) => Math.max(0, count))).toEqual([0, 0, 0])
  })

  it('methods outlive the objects, and types are never unregistered', async () => {
    const add = methodOf(Point, 'add_x')
    await collectAll()
    expect(add(new Point(1), 1)).toBe(2)
  })
})

it('structural functions are those of the library in use', () => {
  const has = (name: string): boolean => {
    try {
      getGlobal(name).close()
      return true
    } catch {
      return false
    }
  }
  if (has('ffi.StructuralEqual')) {
    const array = kernel('echo')([1, [2]])
    expect([structuralEqual(array, [1, [2]]), structuralEqual([1], [2])]).toEqual([true, false])
    expect(structuralHash([1, 2])).toBe(structuralHash([1, 2]))
    expect((deepCopy([1, 2]) as NativeArray).toArray()).toEqual([1, 2])
    expect((fromJSONGraph(toJSONGraph([1, 2])) as NativeArray).toArray()).toEqual([1, 2])
    return
  }
  for (const run of [
    () => structuralEqual(1, 1),
    () => structuralHash(1),
    () => deepCopy(1),
    () => toJSONGraph(1),
    () => fromJSONGraph('{}'),
  ]) {
    const error = thrownBy(run) as UnsupportedError
    expect(error).toBeInstanceOf(UnsupportedError)
    expect(error.hint).toContain('TENON_TVM_FFI_LIBRARY')
  }
})
