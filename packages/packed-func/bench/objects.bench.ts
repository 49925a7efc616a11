import type { Suite } from '@tenon/bench'
import { kernelLibrary } from '@tenon/kernels'
import { getGlobal, methodOf, Module, objectClass, registerClass, type NativeObject } from '@tenon/packed-func'

Module.open(kernelLibrary('packed_objects'))
const echo = Module.open(kernelLibrary('packed')).get('echo')

/** A point of the fixture. */
interface Point extends NativeObject {
  x: number
  countArgs(): number
  addX(dx: number): number
}
const Point = objectClass('fixture.Point') as unknown as {
  new (x: number): Point
  readonly prototype: NativeObject
}

export const suite = {
  package: '@tenon/packed-func objects',
  rows: [
    {
      name: 'call a method without arguments',
      unit: 'ns',
      target: { 'call the packed function with the object': 1.15 },
      setup: () => {
        const point = new Point(1)
        const other = new Point(1)
        const count = methodOf(Point, 'count_args')
        return {
          ours: () => point.countArgs(),
          peers: { 'call the packed function with the object': () => count(other) },
        }
      },
    },
    {
      name: 'call a method with an int',
      unit: 'ns',
      target: { 'call the packed function with both': 1.15 },
      setup: () => {
        const point = new Point(1)
        const other = new Point(1)
        const add = methodOf(Point, 'add_x')
        return { ours: () => point.addX(1), peers: { 'call the packed function with both': () => add(other, 1) } }
      },
    },
    {
      name: 'read an int field',
      unit: 'ns',
      target: { 'a call with one argument': 1.2 },
      setup: () => {
        const point = new Point(1)
        const other = new Point(1)
        const count = methodOf(Point, 'count_args')
        return { ours: () => point.x, peers: { 'a call with one argument': () => count(other) } }
      },
    },
    {
      name: 'write an int field',
      unit: 'ns',
      setup: () => {
        const point = new Point(1)
        const other = new Point(1)
        const add = methodOf(Point, 'add_x')
        let i = 0
        return {
          ours: () => {
            point.x = i++ & 1023
          },
          peers: { 'a call with two arguments': () => add(other, 1) },
        }
      },
    },
    {
      name: 'wrap an object of a registered class',
      unit: 'ns',
      target: { 'wrap a NativeObject': 1.3 },
      setup: () => {
        class MyPoint extends (Point as unknown as new (x: number) => Point) {}
        registerClass('fixture.Point', MyPoint as never)
        const point = new MyPoint(1)
        const plain = getGlobal('ffi.GetInvalidObject')() as NativeObject
        return {
          ours: () => (echo(point) as NativeObject).close(),
          peers: { 'wrap a NativeObject': () => (echo(plain) as NativeObject).close() },
        }
      },
    },
  ],
} satisfies Suite
