import { PoolsError } from '../error-status.ts'
import type { KernelInput, KernelOperand, KernelPlan, KernelRegistry } from '../kernels/kernel.ts'
import type { Operand, Subgraph } from '../model/model.ts'
import { combineDimensions, operandByteSize, operandTypes } from '../model/operand-types.ts'
import { allocatePrivate, Layout } from './memory.ts'
import { Program, type ProgramStep } from './program.ts'
import { numbersOf, type Place } from './values.ts'

/** Where each operand of a model is during a run; undefined for those that aren't there. */
export type Places = (Place | undefined)[]

/** What planning needs to know of a request. */
export interface PlanInput {
  readonly kernels: KernelRegistry
  readonly graph: Subgraph
  /** The constants of the model, by operand. */
  readonly constants: Places
  /** The dimensions of the model's inputs in this request, by operand; undefined for those left out. */
  readonly inputDimensions: ReadonlyMap<number, readonly number[] | undefined>
  /** The value of an input of this request, for operations whose shapes depend on it. */
  readonly inputValue: (operand: number) => Buffer
  readonly workingBytes: number
}

/** Steps that run in one go: natively, or one in TypeScript. */
type Part =
  | { readonly first: number; readonly count: number }
  | {
      readonly run: NonNullable<KernelPlan['run']>
      readonly inputs: readonly number[]
      readonly outputs: readonly number[]
    }

/** How a model runs for inputs of certain shapes. */
export class Plan {
  /** The dimensions of each operand; undefined for those that aren't there. */
  readonly dimensions: readonly (readonly number[] | undefined)[]
  /** The plan holds for this request alone: it depends on values of its inputs. */
  readonly isVolatile: boolean
  /** For whom places were set last: whoever finds himself here needn't set them again. */
  placedFor: unknown
  readonly #parts: readonly Part[]
  readonly #program: Program | undefined
  readonly #tensorOf: ReadonlyMap<number, number>
  readonly #fixed: Places

  /** @throws {PoolsError} if an operation can't work on the shapes. */
  constructor(input: PlanInput) {
    const planner = new Planner(input)
    const { parts, program, tensorOf, dimensions, fixed, isVolatile } = planner.finish()
    this.#parts = parts
    this.#program = program
    this.#tensorOf = tensorOf
    this.#fixed = fixed
    this.dimensions = dimensions
    this.isVolatile = isVolatile
  }

  /** Says where an input or output of the model is for the next run. */
  setPlace(operand: number, place: Place): void {
    this.#fixed[operand] = place
    const tensor = this.#tensorOf.get(operand)
    if (tensor !== undefined) this.#program?.setAddress(tensor, place.address)
  }

  /** Runs all operations; every input and output has its place. @throws {PoolsError} */
  run(): void {
    for (const part of this.#parts) {
      if ('first' in part) this.#program!.run(part.first, part.count)
      else part.run(this.#bytesOf(part.inputs), this.#bytesOf(part.outputs))
    }
  }

  /** No buffers of Node.js, whose `slice` doesn't copy: a kernel that takes a copy must get one. */
  #bytesOf(operands: readonly number[]): Uint8Array[] {
    return operands.flatMap((operand) => {
      const bytes = this.#fixed[operand]?.bytes
      return bytes === undefined ? [] : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    })
  }
}

class Planner {
  readonly #input: PlanInput
  readonly #dimensions: (readonly number[] | undefined)[]
  readonly #steps: ProgramStep[] = []
  readonly #parts: Part[] = []
  readonly #tensorOf = new Map<number, number>()
  #isVolatile = false

  constructor(input: PlanInput) {
    this.#input = input
    const { operands } = input.graph
    this.#dimensions = operands.map((operand, i) => {
      if (operand.lifetime === 'SUBGRAPH_INPUT') return input.inputDimensions.get(i)
      return input.constants[i] === undefined ? undefined : operand.dimensions
    })
    input.graph.operations.forEach((_, i) => this.#planOperation(i))
  }

  finish() {
    const { graph, constants } = this.#input
    const fixed: Places = [...constants]
    const layout = new Layout()
    const offsets = graph.operands.map(({ lifetime, type }, i) =>
      lifetime === 'TEMPORARY_VARIABLE' ? layout.add(operandByteSize(type, this.#dimensions[i]!)) : -1,
    )
    if (layout.byteSize > this.#input.workingBytes) {
      throw new PoolsError(
        'RESOURCE_EXHAUSTED_TRANSIENT',
        `the model needs ${layout.byteSize} bytes for intermediate results`,
      )
    }
    const memory = allocatePrivate(layout.byteSize)
    offsets.forEach((offset, i) => {
      if (offset === -1) return
      const byteSize = operandByteSize(graph.operands[i]!.type, this.#dimensions[i]!)
      fixed[i] = { bytes: memory.bytes.subarray(offset, offset + byteSize), address: memory.address + offset }
    })
    const program = this.#makeProgram()
    for (const [operand, tensor] of this.#tensorOf) {
      const place = fixed[operand]
      if (place !== undefined) program?.setAddress(tensor, place.address)
    }
    return {
      parts: this.#parts,
      program,
      tensorOf: this.#tensorOf,
      dimensions: this.#dimensions,
      fixed,
      isVolatile: this.#isVolatile,
    }
  }

  #makeProgram(): Program | undefined {
    if (this.#steps.length === 0) return undefined
    const { operands } = this.#input.graph
    const tensors = [...this.#tensorOf.keys()].map((i) => ({ ...operands[i]!, dimensions: this.#dimensions[i]! }))
    return new Program(tensors, this.#steps)
  }

  #planOperation(index: number): void {
    const { graph, kernels } = this.#input
    const operation = graph.operations[index]!
    const kernel = kernels.get(operation.type)
    if (kernel === undefined) {
      throw new PoolsError('GENERAL_FAILURE', `the driver has no operation ${operation.type}`, {
        path: `main.operations[${index}]`,
      })
    }
    const outputs = operation.outputs.map((i) => graph.operands[i]!)
    const plan = this.#withPath(index, () =>
      kernel.plan(
        operation.inputs.map((i) => this.#kernelInput(i)),
        outputs satisfies KernelOperand[],
      ),
    )
    operation.outputs.forEach((operand, i) => this.#settleOutput(operand, plan.dimensions[i], index))
    this.#addPart(plan, operation)
  }

  #withPath<T>(index: number, plan: () => T): T {
    try {
      return plan()
    } catch (error) {
      if (!(error instanceof PoolsError)) throw error
      throw new PoolsError(error.status, error.sentence, { path: `main.operations[${index}]`, cause: error })
    }
  }

  #addPart(
    { native, run }: KernelPlan,
    { inputs, outputs }: { inputs: readonly number[]; outputs: readonly number[] },
  ): void {
    if (native === undefined) {
      this.#parts.push({ run: run!, inputs, outputs })
      return
    }
    const used = [...native.inputs.map((i) => inputs[i]!), outputs[0]!]
    const absent = used.find((operand) => this.#dimensions[operand] === undefined)
    if (absent !== undefined) throw new PoolsError('INVALID_ARGUMENT', `operand ${absent} must have a value`)
    const step = { native, tensors: used.map((operand) => this.#tensor(operand)) }
    const last = this.#parts.at(-1)
    const first = this.#steps.push(step) - 1
    if (last !== undefined && 'first' in last)
      this.#parts[this.#parts.length - 1] = { first: last.first, count: last.count + 1 }
    else this.#parts.push({ first, count: 1 })
  }

  #tensor(operand: number): number {
    const known = this.#tensorOf.get(operand)
    if (known !== undefined) return known
    this.#tensorOf.set(operand, this.#tensorOf.size)
    return this.#tensorOf.size - 1
  }

  #settleOutput(operand: number, found: readonly number[] | undefined, operation: number): void {
    const declared = this.#input.graph.operands[operand]!
    const path = `main.operations[${operation}]`
    const combined = found === undefined ? undefined : combineDimensions(declared.dimensions, found)
    if (combined === undefined || (operandTypes[declared.type].isTensor && combined.includes(0))) {
      throw new PoolsError(
        'INVALID_ARGUMENT',
        `${path} makes [${found?.join(', ')}], its output is declared as [${declared.dimensions.join(', ')}]`,
        { path },
      )
    }
    operandByteSize(declared.type, combined, path)
    this.#dimensions[operand] = combined
  }

  #kernelInput(index: number): KernelInput {
    const operand: Operand = this.#input.graph.operands[index]!
    const { type, scale, zeroPoint, lifetime, channelQuant } = operand
    const dimensions = this.#dimensions[index]
    return {
      type,
      scale,
      zeroPoint,
      ...(channelQuant === undefined ? {} : { channelQuant }),
      dimensions: dimensions ?? [],
      isPresent: dimensions !== undefined,
      numbers: () => {
        const bytes = lifetime === 'SUBGRAPH_INPUT' ? this.#valueOfInput(index) : this.#input.constants[index]?.bytes
        const numbers = bytes === undefined || dimensions === undefined ? undefined : numbersOf(type, bytes)
        if (numbers !== undefined) return numbers
        throw new PoolsError(
          'INVALID_ARGUMENT',
          `operand ${index} must have a value of numbers that is known before the run`,
        )
      },
    }
  }

  #valueOfInput(index: number): Buffer | undefined {
    if (this.#dimensions[index] === undefined) return undefined
    this.#isVolatile = true
    return this.#input.inputValue(index)
  }
}
