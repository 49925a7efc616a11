import { describe, expect, it } from 'vitest'
import { ScopeClosedError } from '@tenon/core'
import {
  AttributeError,
  describeType,
  functionDoc,
  functionMetadata,
  getGlobal,
  KeyError,
  listTypes,
  methodOf,
  Module,
  NativeArray,
  NativeMap,
  NativeObject,
  NativeShape,
  objectClass,
  PackedFunc,
  PackedFuncTypeError,
  types,
  type ValueError,
  type PackedFuncError,
} from '../../src/index.ts'
import { isOwnLibrary, thrownBy } from '../support.ts'
import { call, fixture, liveObjects, make, type Any, type AnyClass } from './fixture.ts'

const { Point, Point3, Record, Node, Hostile, Box } = fixture as Record<string, AnyClass> & { Point: AnyClass }

describe('the tables of types', () => {
  it('describeType() reads types, fields, methods and attributes', () => {
    const point = describeType('fixture.Point')
    expect(point).toMatchObject({
      key: 'fixture.Point',
      ancestors: ['ffi.Object'],
      doc: 'A type of the fixture.',
      size: 56,
      constructable: 'explicit',
    })
    const flags = { hasDefault: false, init: true, keywordOnly: false, compare: true, hash: true }
    const doc = 'A field of the fixture.'
    const type = '{"type":"int"}'
    expect(point.fields).toEqual([
      { ...flags, name: 'x', type, doc, writable: true, hasDefault: true, default: 42, repr: true },
      { ...flags, name: 'y', type: '{"type":"float"}', doc, writable: false, repr: true },
      { ...flags, name: 'hidden_tag', type, doc, writable: true, repr: false },
    ])
    expect(point.methods.find(({ name }) => name === 'from_number')).toEqual({
      name: 'from_number',
      doc: 'A method of the fixture.',
      isStatic: true,
    })
    expect(describeType('fixture.Point3')).toMatchObject({
      ancestors: ['ffi.Object', 'fixture.Point'],
      constructable: false,
      fields: [],
    })
    expect(describeType('fixture.Record').constructable).toBe('fields')
    expect(describeType('fixture.Hostile').fields.find(({ name }) => name === '_lead_ing_')!.type).toBe(
      'this is not JSON',
    )
  })

  it('the metadata and documentation of global functions are read', () => {
    expect(functionMetadata('fixture.live')).toBe(
      JSON.stringify({ type_schema: '{"type":"ffi.Function","args":[{"type":"int"}]}' }),
    )
    expect(functionDoc('fixture.live')).toBe(isOwnLibrary ? 'A function of the fixture.' : undefined)
    expect(functionMetadata('fixture.make')).toBeUndefined()
  })

  it('an unknown key raises no error that a later failure reports', () => {
    expect((thrownBy(() => objectClass('fixture.Pint')) as ValueError).hint).toContain('fixture.Point')
    expect(() => objectClass('fixture.Pint')).toThrow("no type 'fixture.Pint' is registered")
    expect((thrownBy(() => make('Point')['raise']()) as PackedFuncError).sentence).toBe('raised by a method')
  })

  it('a class is made at first use, after those of its ancestors', () => {
    const made = make('Bare')
    expect(made.constructor).toBe(objectClass('fixture.deep.Bare-1<int>'))
    expect(Object.getPrototypeOf(Point3)).toBe(Point)
    expect(Object.getPrototypeOf(Point)).toBe(NativeObject)
    expect(objectClass('ffi.Object')).toBe(NativeObject)
    const existing = {
      Array: NativeArray,
      List: NativeArray,
      Map: NativeMap,
      Dict: NativeMap,
      Shape: NativeShape,
      Function: PackedFunc,
      Module,
    }
    for (const [name, type] of Object.entries(existing)) expect(objectClass(`ffi.${name}`)).toBe(type)
    expect(objectClass('ffi.Tensor').typeKey).toBe('ffi.Tensor')
    expect(() => objectClass('int')).toThrow(PackedFuncTypeError)
    for (const key of listTypes().slice(0, 200))
      if (!/^[a-zA-Z ]+\*?$|^TVMFFIByteArray|Small|RValue/.test(key)) objectClass(key)
  })

  it('members that a type gets are added to its class, and others stay', () => {
    const type = objectClass('fixture.Growing')
    const object = make('Growing')
    call('grow')
    expect('lateField0' in object).toBe(false)
    expect(objectClass('fixture.Growing')).toBe(type)
    object['lateField0'] = 5
    expect(object['late_field_0']).toBe(5)
    expect(object['lateMethod0']).toBe(object['late_method_0'])
    const { lateMethod0 } = object
    call('grow')
    types('fixture')
    expect([object['lateMethod0'] === lateMethod0, object['lateMethod1'](1, 2), object['lateField1']]).toEqual([
      true,
      3,
      5,
    ])
  })

  it('attributes are those of exactly this type', () => {
    expect(() => new Point3!()).toThrow('Point3 has no constructor')
    expect(describeType('fixture.Point3').constructable).toBe(false)
    expect(String(make('Node'))).toBe('fixture.Node(number=0, any=null)')
  })
})

describe('members', () => {
  it('a class has the last part of its key as name, and its key as typeKey', () => {
    expect([Point.name, Point.typeKey, Point.length]).toEqual(['Point', 'fixture.Point', 0])
    const bare = objectClass('fixture.deep.Bare-1<int>')
    expect([(bare as unknown as Function).name, bare.typeKey]).toEqual(['Bare_1_int_', 'fixture.deep.Bare-1<int>'])
    expect(Object.keys(fixture)).not.toContain('Bare-1<int>')
  })

  it('static methods are those of the class, and the first of two methods with one name wins', () => {
    using point = Point['from_number'](6) as Any
    expect(point['x']).toBe(6)
    expect(point['from_number']).toBeUndefined()
    expect([
      point['countArgs'](),
      point['countArgs'](1),
      point['countArgs'](1, 2),
      point['countArgs'](1, 2, 3),
    ]).toEqual([1, 2, 3, 4])
    expect([Point['countAll'](), Point['countAll'](1, 2, 3, 4)]).toEqual([0, 4])
    expect('__ffi_init__' in point || '__ffi_init__' in Point).toBe(false)
  })

  it('members have their names and names in camelCase', () => {
    using point = new Point(1)
    expect(point['addX']).toBe(point['add_x'])
    expect(point['addX'](2)).toBe(3)
    point['hidden_tag'] = 1
    expect(point['hiddenTag']).toBe(1001)
    expect(Point['fromNumber']).toBe(Point['from_number'])
    expect((point['addX'] as Function).name).toBe('addX')
  })

  it('names that are taken get an underscore', () => {
    using object = make('Hostile')
    object['then_'] = 7
    for (const name of ['then_', 'constructor_', '__proto___', 'typeIndex_', 'close_']) expect(object[name]).toBe(7)
    expect(object['then']).toBeUndefined()
    expect(object.constructor).toBe(Hostile)
    expect(Object.getPrototypeOf(object)).toBe(Hostile!.prototype)
    for (const name of ['name_', 'length_', 'prototype_', 'method', 'typeKey_', 'then_'])
      expect(Hostile![name](1, 2)).toBe(2)
    expect([object['aB'], object['a_b'], object['_lead_ing_'], object['_leadIng_']]).toEqual([null, 7, 7, 7])
    expect(() => object['toString_']()).toThrow(KeyError)
    expect(Number(object.valueOf === Object.prototype.valueOf)).toBe(1)
    using three = Point['three']() as Any
    expect(three['onlyThree']()).toBe(1)
    expect(three['countArgs'](4)).toBe(7) // a descendant overrides the method of its ancestor
    using point = new Point(1)
    expect(String(point)).toBe('a point')
    expect(point['to_string']).toBe(point.toString)
  })

  it('fields named handle, pointer and tag are those of the library', () => {
    using object = make('Hostile')
    object['handle'] = 8
    for (const name of ['handle', 'pointer', 'tag', '$handle']) expect(object[name]).toBe(8)
    expect(object.typeIndex).toBeGreaterThan(127)
    expect(object.isAlive).toBe(true)
  })

  it('a field is read by the getter of its library', () => {
    const { get, enumerable } = Object.getOwnPropertyDescriptor(Point.prototype, 'x')!
    expect(enumerable).toBe(true)
    using point = new Point(2 ** 31, 1.5)
    expect([point['x'], point['y']]).toEqual([2 ** 31, 1.5])
    point['x'] = 2n ** 60n
    expect(point['x']).toBe(2n ** 60n)
    expect(() => make('Hostile')['fails']).toThrow('this field cannot be read')
    const names: string[] = []
    for (const name in point) names.push(name)
    expect(names).toEqual(['x', 'y', 'hidden_tag', 'hiddenTag'])
    using record = new Record!()
    for (const self of [undefined, null, 1, {}, Point.prototype, record, new Proxy(point, {}), Object.create(point)]) {
      const error = thrownBy(() => get!.call(self)) as PackedFuncTypeError
      expect(error).toBeInstanceOf(PackedFuncTypeError)
      expect(error.sentence).toMatch(/^Point\.x must be read on a Point, got /)
    }
  })

  it('a field is set by the setter of its library', () => {
    using point = new Point(1)
    point['x'] = 5
    expect(point['x']).toBe(5)
    const error = thrownBy(() => (point['y'] = 5)) as AttributeError
    expect(error).toBeInstanceOf(AttributeError)
    expect(error.sentence).toBe('Point.y is read-only')
    point['hiddenTag'] = 7 // its setter is a function object
    expect(point['x']).toBe(1007)
    expect(() => (point['x'] = 'text')).toThrow('the field takes an int')
    expect(() => (point['hiddenTag'] = 'text')).toThrow('the field takes an int')
    expect(() => (point['x'] = Symbol('no'))).toThrow(PackedFuncTypeError)
    expect(point['x']).toBe(1007)
    const { set } = Object.getOwnPropertyDescriptor(Point.prototype, 'x')!
    expect(() => set!.call(new Record!(), 1)).toThrow(
      'Point.x must be set on a Point, got an object of type fixture.Record',
    )
    using record = new Record!(1, null)
    const before = liveObjects()
    record['any'] = new Point(1)
    expect((record['any'] as Any)['x']).toBe(1)
    record['any'] = ['x', 2]
    expect((record['any'] as NativeArray).toArray()).toEqual(['x', 2])
    record['any'] = { toString: () => 'x' } instanceof Object ? 'a text of more than seven bytes' : ''
    expect(record['any']).toBe('a text of more than seven bytes')
    expect(liveObjects() - before).toBeLessThanOrEqual(2)
  })

  it('results become arrays and Maps where the schema says so', () => {
    using box = make('Box')
    expect([box['arrays'](), box['maybe'](), Box!['fixed']()]).toEqual([[[1, 2]], [[1, 2]], [[1, 2]]])
    expect(box['plainArrays']()).toBeInstanceOf(NativeArray)
    expect(box['map']()).toEqual(new Map([[1, 2]]))
    const list = box['list'](1, 2, 3) as NativeArray
    expect([list instanceof NativeArray, list.typeKey, list.toArray()]).toEqual([true, 'ffi.List', [1, 2, 3]])
    expect((box['notAnArray'](1) as NativeArray).typeKey).toBe('ffi.List')
    using point = new Point(1)
    expect(() => point['addX']('text')).toThrow('Mismatched type on argument #1 when calling: `fixture.Point.add_x`')
  })

  it('wrong objects, closed objects and errors of methods are refused or passed on', () => {
    using point = new Point(1)
    using record = new Record!()
    const error = thrownBy(() => point['addX'].call(record, 1)) as PackedFuncTypeError
    expect(error.sentence).toBe('Point.addX must be called on a Point, got an object of type fixture.Record')
    expect(() => point['addX'].call(undefined, 1)).toThrow('Point.addX must be called on a Point, got undefined')
    using three = Point['three']() as Any
    expect(Point.prototype['addX'].call(three, 1)).toBe(4)
    expect(() => point['raise']()).toThrow(KeyError)
    expect(() =>
      point['callBack'](() => {
        throw new RangeError('mine')
      }),
    ).toThrow(RangeError)
    expect(point['callBack'](() => point['addX'](1))).toBe(2)
    const closed = new Point(1)
    closed.close()
    for (const use of [
      () => closed['x'],
      () => (closed['x'] = 1),
      () => closed['addX'](1),
      () => closed.typeKey,
      () => closed.close(),
    ])
      expect(use).toThrow(ScopeClosedError)
    point['callBack'](() => {
      const other = new Point(5)
      expect(other['x']).toBe(5)
      other.close()
      expect(() => other['x']).toThrow(ScopeClosedError)
    })
  })

  it('methodOf() returns packed functions by their registered names', async () => {
    using point = new Point(1)
    const add = methodOf(Point, 'add_x')
    expect(add).toBeInstanceOf(PackedFunc)
    expect(await add.async(point, 4)).toBe(5)
    expect(methodOf(Point3!, 'only_three')).toBeInstanceOf(PackedFunc)
    expect(methodOf(Point3!, 'add_x')).toBe(add)
    expect(methodOf(Point3!, 'count_args')).not.toBe(methodOf(Point, 'count_args'))
    expect(methodOf(Point, 'raise').tryCall(point)).toEqual({
      ok: false,
      kind: 'KeyError',
      sentence: 'raised by a method',
    })
    const error = thrownBy(() => methodOf(Point, 'add_y')) as AttributeError
    expect([error.sentence, error.hint]).toEqual(["Point has no method 'add_y'", 'Did you mean add_x?'])
    expect(() => methodOf(NativeObject, 'x')).toThrow("NativeObject has no method 'x'")
    expect(() => methodOf(Point, 1 as never)).toThrow('name must be')
    const temporary = new Point(8)
    const later = add.async(temporary, 1)
    temporary.close()
    expect(await later).toBe(9)
  })

  it('types() refuses a prefix without types, and names others', () => {
    const error = thrownBy(() => types('fixtur')) as ValueError
    expect(error.sentence).toBe("no type is registered as 'fixtur.Name'")
    expect(error.hint).toContain("'fixture' (8)")
    expect((thrownBy(() => types('fixture.dee')) as ValueError).hint).toContain("'fixture.deep' (1)")
    expect(() => types('')).toThrow('prefix must be')
    expect(types('ffi')['List']).toBe(NativeArray)
    expect(getGlobal('ffi.List')(1)).toBeInstanceOf(types('ffi')['List'])
  })
})
void Node
