import { kernelLibrary } from '@tenon/kernels'
import {
  getGlobal,
  Module,
  types,
  type Argument,
  type Kwargs,
  type NativeObject,
  type PackedFunc,
  type Value,
} from '../../src/index.ts'

Module.open(kernelLibrary('packed_objects'))

/** An object of the fixture: its members are those of `fixtures/kernels/src/packed/objects.c`. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Any = NativeObject & Record<string, any>

/** A class of the fixture. */
// oxlint-disable-next-line typescript/no-explicit-any
export interface AnyClass extends Record<string, any> {
  new (...values: (Argument | Kwargs)[]): Any
  readonly prototype: Any
  readonly name: string
  readonly typeKey: string
  method(name: string): PackedFunc
}

/** The classes of the fixture. */
export const fixture: Record<string, AnyClass> = types('fixture') as unknown as Record<string, AnyClass>

/** The kinds of objects that {@link make} makes, as their library numbers them. */
const numbers = { Point: 0, Point3: 1, Record: 2, Node: 3, Custom: 4, Hostile: 5, Growing: 6, Bare: 7, Box: 8 } as const

/** Makes an object without its constructor. */
export const make = (name: keyof typeof numbers): Any => call('make', numbers[name]) as Any

const functions = new Map<string, PackedFunc>()

/** Calls a global function of the fixture. */
export function call(name: string, ...values: Argument[]): Value {
  const found = functions.get(name) ?? getGlobal(`fixture.${name}`)
  functions.set(name, found)
  return found(...values)
}

/** The number of objects of the fixture that exist in native code. */
export const liveObjects = (): number => call('live') as number
