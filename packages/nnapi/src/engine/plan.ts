import { PoolsError } from '@tenon/pools'
import type { KernelInput, KernelPlan, KernelRegistry, NativeStep } from '../kernels/kernel.ts'
import type { Operation, Subgraph } from '../model/model.ts'
import { numbersOf } from '../model/values.ts'
import { operandByteSize } from '../model/operand-types.ts'
import type { Place, PrivateMemory } from './memory.ts'
import type { PlacedBuffer } from './placed-buffer.ts'
import { notKnownBeforeRun, planOperation } from './plan-operation.ts'
import { Program, type ProgramStep } from './program.ts'

/** The place of each operand of a model during a run; undefined for absent operands. */
export type Places = (Place | undefined)[]

export interface PlanModel {
  readonly kernels: KernelRegistry
  readonly graph: Subgraph
  readonly constants: Places
  /** Where the intermediate results lie. */
  readonly memory: PrivateMemory
}

export interface PlanInput {
  /** The dimensions of the model's inputs in this request, by operand; undefined for inputs that are left out. */
  readonly inputDimensions: ReadonlyMap<number, readonly number[] | undefined>
  /** Returns the value of an input of this request, for operations whose shapes depend on it. */
  readonly inputValue: (operand: number) => Buffer
}

/** Steps that run together in C, or one that runs in TypeScript. */
type Part = { readonly first: number; count: number; readonly placed?: PlacedStep } | TypeScriptStep

type Arguments = Pick<Operation, 'inputs' | 'outputs'>

interface TypeScriptStep extends Arguments {
  readonly run: NonNullable<KernelPlan['run']>
  readonly placed?: PlacedStep
}

/** The form of a step for operands in placed buffers. */
interface PlacedStep extends Arguments {
  readonly runPlaced: NonNullable<KernelPlan['runPlaced']>
}

/** The steps, shapes and memory with which a model runs for inputs of certain shapes. */
export class Plan {
  readonly dimensions: (readonly number[] | undefined)[]
  /** Whether the plan is for one request only, because it depends on values of its inputs. */
  isVolatile = false
  /** The user that set the places last, and need not set them again. */
  placedFor: unknown
  readonly #input: PlanModel & PlanInput
  readonly #steps: ProgramStep[] = []
  readonly #parts: Part[] = []
  readonly #tensorOf = new Map<number, number>()
  /** Operands of operations that know nothing of placed buffers. */
  readonly #needBytes = new Set<number>()
  readonly #fixed: Places
  readonly #program: Program | undefined

  /** @throws {PoolsError} if an operation cannot work on the shapes. */
  constructor(input: PlanModel & PlanInput) {
    const { graph, constants, inputDimensions } = input
    const { operands, operations } = graph
    this.#input = input
    this.dimensions = operands.map(({ lifetime, dimensions }, i) => {
      if (lifetime === 'SUBGRAPH_INPUT') return inputDimensions.get(i)
      return constants[i] === undefined ? undefined : dimensions
    })
    operations.forEach((operation, i) => this.#planOperation(operation, `main.operations[${i}]`))
    this.#fixed = this.#placeResults()
    if (this.#steps.length === 0) return
    const tensors = [...this.#tensorOf.keys()].map((i) => ({ ...operands[i]!, dimensions: this.dimensions[i]! }))
    this.#program = new Program(tensors, this.#steps)
    this.#fixed.forEach((place, i) => place && this.setPlace(i, place))
  }

  get memory(): PrivateMemory {
    return this.#input.memory
  }

  setPlace(operand: number, place: Place): void {
    this.#fixed[operand] = place
    const tensor = this.#tensorOf.get(operand)
    if (tensor !== undefined) this.#program?.setAddress(tensor, place.address)
  }

  /** Runs all operations. Every input and output has its place. @throws {PoolsError} */
  run(): void {
    for (const part of this.#parts) {
      if (part.placed !== undefined && this.#hasPlaced(part.placed)) this.#runPlaced(part.placed)
      else if ('first' in part) this.#program!.run(part.first, part.count)
      else part.run(this.#bytesOf(part.inputs), this.#bytesOf(part.outputs))
    }
  }

  /** Whether all operations that have an operand can use it in a placed buffer. */
  takesPlaced(operand: number): boolean {
    return !this.#needBytes.has(operand)
  }

  #hasPlaced({ inputs, outputs }: PlacedStep): boolean {
    const isPlaced = (operand: number): boolean => this.#fixed[operand]?.placed !== undefined
    return inputs.some(isPlaced) || outputs.some(isPlaced)
  }

  #runPlaced({ inputs, outputs, runPlaced }: PlacedStep): void {
    const values = (operands: readonly number[]): (Uint8Array | PlacedBuffer)[] =>
      operands.flatMap((operand): (Uint8Array | PlacedBuffer)[] => {
        const placed = this.#fixed[operand]?.placed
        return placed === undefined ? this.#bytesOf([operand]) : [placed]
      })
    runPlaced(values(inputs), values(outputs))
  }

  /** Returns plain arrays, because the `slice` of Node.js's buffers does not copy, as kernels may expect. */
  #bytesOf(operands: readonly number[]): Uint8Array[] {
    return operands.flatMap((operand) => {
      const bytes = this.#fixed[operand]?.bytes
      return bytes === undefined ? [] : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    })
  }

  #placeResults(): Places {
    const { graph, constants, memory } = this.#input
    const results = graph.operands.flatMap(({ lifetime }, i) => (lifetime === 'TEMPORARY_VARIABLE' ? [i] : []))
    const sizes = results.map((i) => operandByteSize(graph.operands[i]!.type, this.dimensions[i]!))
    const found = memory.allocateAll(sizes, "the model's intermediate results")
    const places = [...constants]
    results.forEach((operand, i) => (places[operand] = found[i]))
    return places
  }

  #planOperation(operation: Operation, path: string): void {
    const { graph, kernels } = this.#input
    const inputs = operation.inputs.map((i) => this.#kernelInput(i))
    const { plan, dimensions } = planOperation(kernels, graph, operation, inputs, path)
    operation.outputs.forEach((operand, i) => (this.dimensions[operand] = dimensions[i]))
    this.#addPart(plan, operation)
  }

  #addPart({ native, run, runPlaced }: KernelPlan, { inputs, outputs }: Operation): void {
    const placed = runPlaced === undefined ? {} : { placed: { inputs, outputs, runPlaced } }
    if (runPlaced === undefined) for (const operand of [...inputs, ...outputs]) this.#needBytes.add(operand)
    if (native === undefined) {
      this.#parts.push({ run: run ?? runPlaced!, inputs, outputs, ...placed })
      return
    }
    const first = this.#steps.length
    for (const step of [native].flat()) this.#addStep(step, inputs, outputs)
    const count = this.#steps.length - first
    const last = this.#parts.at(-1)
    // Only steps that have one form run together.
    if (runPlaced === undefined && last !== undefined && 'first' in last && last.placed === undefined)
      last.count += count
    else if (count > 0) this.#parts.push({ first, count, ...placed })
  }

  #addStep(native: NativeStep, inputs: readonly number[], outputs: readonly number[]): void {
    const written = native.outputs ?? [0]
    const used = [...native.inputs.map((i) => inputs[i]!), ...written.map((i) => outputs[i]!)]
    const absent = used.find((operand) => this.dimensions[operand] === undefined)
    if (absent !== undefined) throw new PoolsError('INVALID_ARGUMENT', `operand ${absent} must have a value`)
    for (const operand of used) if (!this.#tensorOf.has(operand)) this.#tensorOf.set(operand, this.#tensorOf.size)
    const tensors = used.map((operand) => this.#tensorOf.get(operand)!)
    this.#steps.push({ native, tensors, inputCount: native.inputs.length })
  }

  #kernelInput(index: number): KernelInput {
    const operand = this.#input.graph.operands[index]!
    const dimensions = this.dimensions[index]
    return {
      ...operand,
      dimensions: dimensions ?? [],
      rank: dimensions?.length,
      isPresent: dimensions !== undefined,
      numbers: () => {
        const isInput = operand.lifetime === 'SUBGRAPH_INPUT' && dimensions !== undefined
        if (isInput) this.isVolatile = true
        const bytes = isInput ? this.#input.inputValue(index) : this.#input.constants[index]?.bytes
        const numbers = bytes === undefined || dimensions === undefined ? undefined : numbersOf(operand.type, bytes)
        if (numbers !== undefined) return numbers
        throw notKnownBeforeRun(index)
      },
    }
  }
}
