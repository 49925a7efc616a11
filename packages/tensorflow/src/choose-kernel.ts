import { ArgumentError } from '@tenon/core'
import { typeOfCode, type ElementType } from './element-types.ts'
import type { AttributeValue } from './operation.ts'
import type { RegisteredKernel } from './registration.ts'

/** The choice of a kernel that a caller makes. */
export interface KernelChoice {
  /** The device for which the kernel is registered. Default: `CPU`. */
  readonly device?: string | undefined
  /** The label of the kernel. Without it, kernels with labels are not chosen. */
  readonly label?: string | undefined
}

/** The devices whose kernels run in host memory. A kernel for `DEFAULT` is for any device without a kernel of its own. */
export const HOST_DEVICES = ['CPU', 'DEFAULT'] as const

/**
 * Chooses the kernel of an operation with the highest priority, whose constraints hold.
 *
 * @param kernels the registrations of one operation
 * @param attributes the values from `resolveAttributes()`
 * @throws {ArgumentError} if no kernel can be chosen, or several of one priority. The hint lists the constraints of all.
 */
export function chooseKernel(
  operation: string,
  kernels: readonly RegisteredKernel[],
  attributes: ReadonlyMap<string, AttributeValue>,
  { device = 'CPU', label = '' }: KernelChoice = {},
): RegisteredKernel {
  const fitting = kernels.filter(
    (kernel) =>
      kernel.label === label &&
      kernel.constraints.every(({ attribute, types }) => holds(attributes.get(attribute), types)),
  )
  for (const place of [device, 'DEFAULT']) {
    const candidates = fitting.filter((kernel) => kernel.device === place)
    const priority = Math.max(...candidates.map((kernel) => kernel.priority))
    const [first, second] = candidates.filter((kernel) => kernel.priority === priority)
    if (second !== undefined)
      throw notChosen(operation, kernels, `one kernel of priority ${priority} on ${place}`, 'two', attributes)
    if (first !== undefined) return first
  }
  const labelled = label === '' ? '' : ` with the label ${JSON.stringify(label)}`
  throw notChosen(operation, kernels, `a kernel on ${device}${labelled} for these element types`, 'none', attributes)
}

/** Whether a constraint holds. The constraint of a list holds for each of its element types. */
function holds(value: AttributeValue | undefined, types: readonly number[]): boolean {
  if (value === undefined) return false
  return (Array.isArray(value) ? value : [value]).every((one) => types.includes((one as ElementType).code))
}

function notChosen(
  operation: string,
  kernels: readonly RegisteredKernel[],
  expected: string,
  received: string,
  attributes: ReadonlyMap<string, AttributeValue>,
): ArgumentError {
  const constrained = new Set(kernels.flatMap(({ constraints }) => constraints.map(({ attribute }) => attribute)))
  const values = [...constrained].map((name) => `${name} = ${namesOf(attributes.get(name))}`)
  const among = values.length === 0 ? '' : ` among those for ${values.join(', ')}`
  return new ArgumentError(`${operation} must have ${expected}, got ${received}${among}`, {
    hint: `The kernels are: ${kernels.map(describeKernel).join('; ')}.`,
    details: { path: operation, expected, received },
  })
}

/** Returns the device, label and constraints of a kernel: `CPU, T in half or float`. */
export function describeKernel({ device, label, priority, constraints }: RegisteredKernel): string {
  const parts = [device]
  if (label !== '') parts.push(`label ${JSON.stringify(label)}`)
  if (priority !== 0) parts.push(`priority ${priority}`)
  for (const { attribute, types } of constraints) parts.push(`${attribute} in ${types.map(nameOfCode).join(' or ')}`)
  return parts.join(', ')
}

const nameOfCode = (code: number): string => typeOfCode(code)?.name ?? `type ${code}`

const namesOf = (value: AttributeValue | undefined): string =>
  value === undefined
    ? 'nothing'
    : (Array.isArray(value) ? value : [value]).map((one) => (one as ElementType).name ?? String(one)).join(' and ')
