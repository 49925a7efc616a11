import { ArgumentError, Tensor, TensorType, tensorType, type DType } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import type { ElementChoice, Parameter } from './parameter.ts'

interface Bound<Value> {
  readonly value: Value
  readonly place: string
}

/** The sizes and element types that the tensors of one call have chosen for the names and choices of its target. */
export class Bindings {
  readonly #target: string
  readonly #sizes = new Map<string, Bound<number>>()
  readonly #dtypes = new Map<ElementChoice, Bound<DType>>()

  constructor(target: string) {
    this.#target = target
  }

  /** Checks tensors or types against parameters. @throws {ArgumentError} with the first contradiction. */
  bindAll(parameters: readonly Parameter[], values: unknown, what: 'operand' | 'result'): void {
    const path = `${what}s of ${this.#target}`
    const types = typesOf(values, path)
    const least = parameters.filter(({ kind }) => kind === 'one').length
    const most = parameters.at(-1)?.kind === 'remaining' ? Infinity : parameters.length
    if (types.length < least || types.length > most) {
      const expected = least === most ? `${least}` : most === Infinity ? `at least ${least}` : `${least} to ${most}`
      throw new ArgumentError(`${this.#target} takes ${expected} ${what}s, got ${types.length}`, {
        details: { path, expected, received: types.length },
      })
    }
    types.forEach((type, i) => this.#bind(parameters[Math.min(i, parameters.length - 1)]!, type, `${what} ${i}`))
  }

  #bind(parameter: Parameter, type: TensorType, place: string): void {
    const { choice, shape } = parameter
    const { dtype } = type
    if (choice.dtypes.length > 0 && !choice.dtypes.includes(dtype)) throw this.#mismatch(parameter, type, place)
    const bound = this.#dtypes.get(choice)
    if (bound === undefined) this.#dtypes.set(choice, { value: dtype, place })
    else if (bound.value !== dtype && choice.dtypes.length !== 1) {
      throw this.#mismatch(parameter, type, place, `${bound.place} has elements of ${bound.value}`)
    }
    if (shape === undefined) return
    if (shape.length !== type.shape.length) throw this.#mismatch(parameter, type, place)
    shape.forEach((size, axis) => {
      const actual = type.shape[axis]!
      if (size === null || size === actual) return
      if (typeof size === 'number') throw this.#mismatch(parameter, type, place)
      const known = this.#sizes.get(size)
      if (known === undefined) this.#sizes.set(size, { value: actual, place })
      else if (known.value !== actual) {
        throw this.#mismatch(parameter, type, place, `${known.place} has ${size} = ${known.value}`)
      }
    })
  }

  /** Returns the type of a parameter whose names and choice are all bound. @throws {ArgumentError} if one is not bound. */
  resolve(parameter: Parameter, place: string): TensorType {
    const { choice, shape } = parameter
    const dtype = this.#dtypes.get(choice)?.value ?? (choice.dtypes.length === 1 ? choice.dtypes[0] : undefined)
    const sizes = shape?.map((size) => (typeof size === 'string' ? this.#sizes.get(size)?.value : (size ?? undefined)))
    if (dtype !== undefined && sizes?.every((size) => size !== undefined)) return tensorType(dtype, sizes)
    const unknown = dtype === undefined ? 'its element type' : 'all its sizes'
    throw new ArgumentError(`${place} of ${this.#target} is ${parameter}, the operands do not determine ${unknown}`, {
      hint: 'Give the results as tensors or types.',
    })
  }

  #mismatch(parameter: Parameter, type: TensorType, place: string, reason?: string): ArgumentError {
    const path = `${place} of ${this.#target}`
    const because = reason === undefined ? '' : `, because ${reason}`
    return new ArgumentError(`${path} must be ${parameter}, got ${type}${because}`, {
      details: { path, expected: String(parameter), received: String(type) },
    })
  }
}

function typesOf(values: unknown, place: string): TensorType[] {
  if (!Array.isArray(values)) throw wrongType(`the ${place}`, 'an array', values)
  return values.map((value: unknown, i) => {
    if (value instanceof Tensor) return value.type
    if (value instanceof TensorType) return value
    throw wrongType(`${place}: number ${i}`, 'a tensor or a type', value)
  })
}
