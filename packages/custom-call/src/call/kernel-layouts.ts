import { ArgumentError, tensorType, TensorType, type Parameter } from '@tenon/core'
import { checkOptions, isPlainObject, wrongType, type ParameterLayout } from '@tenon/core/internal'
import { typeInLayout, type Layouts } from '../shape/layouts.ts'
import { checkKnownNames, hasStrings, type Grouped } from './kernel-parameters.ts'

/** The layouts of a kernel's tensors by the names of operands and results, see {@link Layouts}. */
export interface NamedLayouts {
  readonly operands?: { readonly [name: string]: ParameterLayout | undefined }
  readonly results?: { readonly [name: string]: ParameterLayout | undefined }
}

/** The layouts of a kernel's parameters, without tokens. */
export interface KernelLayouts {
  readonly operands: readonly (ParameterLayout | undefined)[]
  readonly results: readonly (ParameterLayout | undefined)[]
  /** Whether all tensors are row-major. */
  readonly isPlain: boolean
  /** A text that differs for other layouts, if the caller passed some. */
  readonly key: string | undefined
}

const ofSignature = ({ layout }: Parameter): ParameterLayout | undefined => layout

/** Returns the layouts in the signature of a kernel. */
export function signatureLayouts(operands: readonly Parameter[], results: readonly Parameter[]): KernelLayouts {
  return layoutsOf(operands.map(ofSignature), results.map(ofSignature), undefined)
}

/**
 * Reads the layouts that a caller passed. The others are those of the signature.
 *
 * @throws {ArgumentError} if a name is unknown, or a value is not a layout.
 */
export function readNamedLayouts(
  kernel: string,
  own: KernelLayouts,
  operands: readonly Parameter[],
  results: readonly Parameter[],
  named: unknown,
): KernelLayouts {
  if (named === undefined) return own
  const place = `the layouts of ${kernel}`
  if (!isPlainObject(named)) {
    const hint = `Write layouts: { operands: { ${operands[0]?.name ?? 'x'}: 'cm' } }.`
    throw wrongType(place, 'an object', named, hint)
  }
  const lists = checkOptions<NamedLayouts>(named, ['operands', 'results'], place)
  const read = (
    which: 'operands' | 'results',
    parameters: readonly Parameter[],
  ): readonly (ParameterLayout | undefined)[] => {
    const list: unknown = lists[which]
    if (list === undefined) return own[which]
    const hint = `Write layouts: { ${which}: { ${parameters[0]?.name ?? 'x'}: 'cm' } }.`
    if (!isPlainObject(list)) throw wrongType(`${which} of ${place}`, 'an object of layouts by name', list, hint)
    const names = parameters.map(({ name }) => name)
    checkKnownNames(kernel, which === 'operands' ? 'operand' : 'result', list, names)
    const layouts: Readonly<Record<string, unknown>> = list
    return names.map((name, i) => {
      const layout = Object.hasOwn(layouts, name) ? layouts[name] : undefined
      if (layout !== undefined && hasStrings(parameters[i]!)) {
        throw new ArgumentError(`${name} of ${kernel} must not have a layout of axes, because its elements are strings`)
      }
      return layout === undefined ? own[which][i] : checkLayout(layout, `the layout of ${name} of ${kernel}`)
    })
  }
  const layouts = { operands: read('operands', operands), results: read('results', results) }
  return layoutsOf(layouts.operands, layouts.results, JSON.stringify(layouts))
}

function layoutsOf(
  operands: KernelLayouts['operands'],
  results: KernelLayouts['results'],
  key: string | undefined,
): KernelLayouts {
  return { operands, results, isPlain: [...operands, ...results].every((one) => one === undefined), key }
}

function checkLayout(layout: unknown, place: string): ParameterLayout {
  if (layout === 'cm') return layout
  const refuse = (): never => {
    throw wrongType(place, "'cm' or an array of axes", layout, 'List the axes from major to minor, as in [1, 0].')
  }
  if (!Array.isArray(layout)) return refuse()
  // An array can claim any length, so its first hole ends reading.
  return Array.from(layout as unknown[], (axis) => (Number.isInteger(axis) ? (axis as number) : refuse()))
}

/**
 * Returns the row-major types of tensors that are row-major or in their layouts.
 *
 * @throws {ArgumentError} if a type has other strides.
 */
export function plainTypes(
  kernel: string,
  parameters: readonly Parameter[],
  layouts: readonly (ParameterLayout | undefined)[],
  groups: Grouped<TensorType>,
): Grouped<TensorType> {
  return groups.map((own, i) => {
    const layout = layouts[i]
    if (own === undefined || layout === undefined) return own
    const place = `${parameters[i]!.name} of ${kernel}`
    const plain = (type: TensorType): TensorType => {
      typeInLayout(type, layout, place)
      return type.strides === undefined ? type : tensorType(type.dtype, type.shape)
    }
    return own instanceof TensorType ? plain(own) : own.map(plain)
  })
}

/** Returns the layouts of a call by position. @param groups a type for each parameter, or several. */
export function layoutsByPosition(
  layouts: KernelLayouts,
  operands: Grouped<TensorType>,
  results: Grouped<TensorType>,
): Layouts {
  const each = (
    groups: Grouped<TensorType>,
    own: readonly (ParameterLayout | undefined)[],
  ): (ParameterLayout | undefined)[] =>
    groups.flatMap((group, i) => {
      if (group === undefined) return []
      return group instanceof TensorType ? [own[i]] : group.map(() => own[i])
    })
  return { operands: each(operands, layouts.operands), results: each(results, layouts.results) }
}
