import { addressOf, describe, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { AttributeError, PackedFuncTypeError } from '../errors/error-kinds.ts'
import { calleeOf, calls, readResult, type Callee } from '../functions/call.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { cellOf, NativeObject, typeKeyOf } from '../objects/native-object.ts'
import type { Argument } from '../values/argument.ts'
import { converterOfField, converterOfMethod, type Converted } from './convert-result.ts'
import { copyOfValue } from './describe-type.ts'
import { FieldFlag, type MemberEntry } from './type-table.ts'

/** What the members of a class need to know of its type. */
export interface Owner {
  readonly index: number
  readonly key: string
  readonly className: string
  /** Whether objects of a type are objects of this type. */
  has(typeIndex: number): boolean
}

/** A function whose `this` is the object. */
export type Method = (this: unknown, ...values: Argument[]) => Converted

/** Returns the packed function of a method. */
export const functionOfMethod = (key: string, { name, info }: MemberEntry): PackedFunc =>
  (copyOfValue(info, LAYOUTS.TVMFFIMethodInfo.offsets.method) as PackedFunc).rename(`${key}.${name}`)

function wrongThis({ className }: Owner, name: string, verb: string, received: unknown): PackedFuncTypeError {
  const got =
    received instanceof NativeObject ? `an object of type ${typeKeyOf(cellOf(received).typeIndex)}` : describe(received)
  return new PackedFuncTypeError('TypeError', `${className}.${name} must be ${verb} on a ${className}, got ${got}`, {
    hint: `Use it as a member of an object: object.${name}.`,
    details: { name, expected: className, received: got },
  })
}

/** @throws {PackedFuncTypeError} if `self` is not an object of the type. */
function checkThis(self: unknown, owner: Owner, name: string, verb: string): asserts self is NativeObject {
  if (self instanceof NativeObject) {
    const { typeIndex } = cellOf(self)
    if (typeIndex === owner.index || owner.has(typeIndex)) return
  }
  throw wrongThis(owner, name, verb, self)
}

/** Makes the instance method of a native one. Named parameters, because a rest parameter takes a third longer. */
export function makeMethod(owner: Owner, member: MemberEntry, name: string, target: PackedFunc): Method {
  const { one, few, all } = calls()
  const callee = calleeOf(target)
  const convert = converterOfMethod(member.type)
  const { index } = owner
  const methods = {
    [name](this: unknown, a?: Argument, b?: Argument): Converted {
      if (!(this instanceof NativeObject) || cellOf(this).typeIndex !== index) checkThis(this, owner, name, 'called')
      const count = arguments.length
      const result =
        count === 0
          ? one(callee, this)
          : count < 3
            ? few(callee, count + 1, this, a, b)
            : all(callee, [this, ...arguments], readResult)
      return convert === undefined ? result : convert(result)
    },
  }
  return methods[name] as Method
}

/** Makes the static method of a native one. */
export function makeStaticMethod(_: Owner, member: MemberEntry, name: string, target: PackedFunc): Method {
  const convert = converterOfMethod(member.type)
  const methods = {
    [name](...values: Argument[]): Converted {
      const result = target(...values)
      return convert === undefined ? result : convert(result)
    },
  }
  return methods[name] as Method
}

/** Makes the property of a field. Its native functions are made at first use. */
export function makeProperty(owner: Owner, field: MemberEntry, name: string): PropertyDescriptor {
  const { one, few } = calls()
  const { index } = owner
  const convert = converterOfField(field.type)
  const isWritable = (field.flags & FieldFlag.Writable) !== 0
  let getter: Callee | undefined
  let setter: Callee | undefined
  return {
    get(this: unknown): Converted {
      if (!(this instanceof NativeObject) || cellOf(this).typeIndex !== index) checkThis(this, owner, name, 'read')
      getter ??= fieldFunction(owner, field, false)
      const value = one(getter, this)
      return convert === undefined ? value : convert(value)
    },
    set(this: unknown, value: Argument): void {
      checkThis(this, owner, name, 'set')
      if (!isWritable) {
        throw new AttributeError(`${owner.className}.${name} is read-only`, {
          hint: 'Make another object, or use a method that changes the field.',
          details: { name, expected: 'a field that can be set', received: 'a read-only field' },
        })
      }
      setter ??= fieldFunction(owner, field, true)
      few(setter, 2, this, value, undefined)
    },
    enumerable: true,
    configurable: true,
  }
}

function fieldFunction({ key }: Owner, { name, info }: MemberEntry, writes: boolean): Callee {
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const status = stack.host.tn_packed_field_create(stack.slotAddress(slot), addressOf(info), writes ? 1 : 0)
    keepAlive(info)
    if (status !== 0) throw takeError(stack, slot)
    return calleeOf(new PackedFunc(TypeIndex.Function, stack.pointer(slot), `${key}.${name}`))
  })
}
