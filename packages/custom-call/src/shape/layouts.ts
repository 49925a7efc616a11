import { ArgumentError, TenonError, type TensorType } from '@tenon/core'
import { checkOptions, layoutText, withLayout, wrongType, type ParameterLayout } from '@tenon/core/internal'

/**
 * The layouts of a call's tensors, by position. A layout lists the axes from major to minor, as `input_layouts` of
 * `jax.ffi.ffi_call` does, and `cm` exchanges the last two axes. Without a layout, a tensor is row-major.
 */
export interface Layouts {
  readonly operands?: readonly (ParameterLayout | undefined)[]
  readonly results?: readonly (ParameterLayout | undefined)[]
}

/** More than the tensors of any call, and few enough to copy the list of them. */
const MOST_LAYOUTS = 2 ** 20

interface TakenLayouts {
  readonly operands: readonly unknown[]
  readonly results: readonly unknown[]
}

/** The layouts of a call whose tensors are all row-major. */
const ROW_MAJOR: TakenLayouts = { operands: [], results: [] }

/** Takes the layouts of a call, each of which is read once. @throws {ArgumentError} if a list is not an array. */
export function takeLayouts(name: string, layouts: unknown): TakenLayouts {
  if (layouts === undefined) return ROW_MAJOR
  const place = `the layouts of ${name}`
  const { operands, results } = checkOptions(layouts as Layouts | undefined, ['operands', 'results'], place)
  const take = (list: unknown, which: string): unknown[] => {
    if (list === undefined) return []
    if (Array.isArray(list) && list.length <= MOST_LAYOUTS) return Array.from(list as unknown[])
    throw wrongType(`${which} of ${place}`, 'an array of layouts', list, "Write layouts: { operands: ['cm'] }.")
  }
  return { operands: take(operands, 'operands'), results: take(results, 'results') }
}

/**
 * The type of a tensor in the memory of a call.
 *
 * @param type the type that the caller gave, row-major or in the layout.
 * @throws {ArgumentError} if the type has other strides, or the layout does not fit its shape.
 */
export function typeInLayout(type: TensorType, layout: unknown, place: string): TensorType {
  const laid = inLayout(type, layout, place)
  if (type.strides === undefined || type === laid) return laid
  throw new ArgumentError(`${place} must be row-major or ${layoutText(laid)}, got ${layoutText(type)}`, {
    hint: `Copy the tensor into the layout first, with toLayout(${JSON.stringify(layout)}).`,
  })
}

function inLayout(type: TensorType, layout: unknown, place: string): TensorType {
  try {
    return withLayout(type, layout)
  } catch (error) {
    if (!(error instanceof TenonError)) throw error
    throw new ArgumentError(`the layout of ${place}: ${error.sentence}`, {
      hint: "Write 'cm' for column-major, or the axes from major to minor, as in [1, 0].",
    })
  }
}

/** @throws {ArgumentError} if there are more layouts than tensors. */
export function checkLayoutCount(name: string, which: string, layouts: readonly unknown[], count: number): void {
  if (layouts.length <= count) return
  throw new ArgumentError(`${name} must have at most ${count} layouts of ${which}, got ${layouts.length}`)
}
