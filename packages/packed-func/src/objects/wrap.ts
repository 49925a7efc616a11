import { errorAt } from '../errors/crossing.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { tensorOf } from '../tensors/unpack-tensor.ts'
import type { Value } from '../values/argument.ts'
import { Module } from '../functions/module.ts'
import { NativeMap } from './native-map.ts'
import { NativeArray } from './native-array.ts'
import { NativeObject } from './native-object.ts'
import { NativeShape } from './native-shape.ts'

/** The JavaScript object for a native one. Takes over a reference. */
export function wrapObject(stack: Stack, typeIndex: number, address: number): Value {
  switch (typeIndex) {
    case TypeIndex.Function:
      return new PackedFunc(address)
    case TypeIndex.Tensor:
      return tensorOf(stack, address)
    case TypeIndex.Error:
      return errorAt(stack, address) as Error
    case TypeIndex.Array:
    case TypeIndex.List:
      return new NativeArray(typeIndex, address)
    case TypeIndex.Map:
    case TypeIndex.Dict:
      return new NativeMap(typeIndex, address)
    case TypeIndex.Shape:
      return new NativeShape(address)
    case TypeIndex.Module:
      return new Module(address)
    default:
      return new NativeObject(typeIndex, address)
  }
}
