/**
 * Writes src/generated/call-forms.ts: a function for each order of pointers, texts and scalars that calls often have. A loop over the
 * arguments takes longer than the rest of the call, and a function that serves several orders a third longer than one of these,
 * because the compiler inlines only so much code into one function.
 *
 *     node generate/call-forms.ts
 */
import { writeFileSync } from 'node:fs'

/** All orders of at most so many arguments of these kinds. */
function ordersOf(kinds: readonly string[], count: number): string[] {
  const found = ['']
  for (const order of found) if (order.length < count) found.push(...kinds.map((kind) => order + kind))
  return found
}

/**
 * All orders of at most four arguments, or three with texts, and longer ones as most kernels have them: up to four pointers, then
 * scalars. An order that ends with `>` is for functions that return a text and take none.
 */
function orders(): string[] {
  const short = ordersOf(['p', 's'], 4)
  const long = [5, 6].flatMap((count) => [1, 2, 3, 4].map((pointers) => 'p'.repeat(pointers).padEnd(count, 's')))
  const withTexts = ordersOf(['p', 's', 't'], 3).filter((order) => order.includes('t'))
  return [...short, ...long, ...withTexts, ...ordersOf(['p', 's'], 3).map((order) => `${order}>`)]
}

/** The body of a form with texts, as arguments or as the result. */
function bodyWithTexts(order: string): string {
  const all = [...order].map((_, i) => i)
  const operands = all.filter((i) => order[i] !== 's')
  const texts = all.filter((i) => order[i] === 't')
  const lines = (indices: readonly number[], line: (i: number) => string): string =>
    indices.map((i) => `        ${line(i)}\n`).join('')
  const address = (i: number): string =>
    order[i] === 'p'
      ? `const address${i} = addressIn(memory${i}, slot${i}, value${i})`
      : `const text${i} = typeof value${i} === 'string' ? value${i} : addressIn(memory${i}, slot${i}, value${i})`
  const stored: Readonly<Record<string, (i: number) => string>> = {
    p: (i) => `storeAddress(slot${i}, address${i})`,
    t: (i) => `storeText(slot${i}, ${texts.indexOf(i)}, text${i})`,
    s: (i) => `storeScalar(slot${i}, value${i})`,
  }
  const leave = lines(operands, (i) => `  memory${i}.gate.calls--`)
  const strings = texts.map((i) => `, text${i}`).join('')
  const perform = `performTexts(target${strings})`
  return [
    '        check(target, arguments.length)\n',
    traced(all),
    lines(operands, (i) => `const memory${i} = operandOf(value${i}, code)`),
    lines(operands, address),
    operands.length === 0 ? '' : '        checkOperand(code)\n',
    lines(operands, (i) => `checkOperand(memory${i})`),
    '        begin(target)\n',
    lines(all, (i) => stored[order[i]!]!(i)),
    operands.length === 0 ? `        const text = ${perform}\n` : '        let text: string | null | undefined\n',
    lines(operands, (i) => `memory${i}.gate.calls++`),
    operands.length === 0 ? '' : guarded(leave, `text = ${perform}`),
    lines(operands, (i) => `memory${i}.gate.calls--`),
    '        return finishTexts(target, text, code, undefined)\n',
  ].join('')
}

interface PointerSteps {
  readonly operand: (i: number) => string
  readonly address: (i: number) => string
  readonly check: (i: number) => string
  readonly store: (i: number) => string
}

const callingSteps: PointerSteps = {
  operand: (i) => `const memory${i} = operandOf(value${i}, code)`,
  address: (i) => `const address${i} = addressIn(memory${i}, slot${i}, value${i})`,
  check: (i) => `checkOperand(memory${i})`,
  store: (i) => `storeAddress(slot${i}, address${i})`,
}

/**
 * The same with the frequent case written out. Where there are many pointers, the compiler no longer inlines the functions of the steps, and
 * their calls take a fifth of the time of a call with four.
 */
const inlineSteps: PointerSteps = {
  operand: (i) => `const isSegment${i} = value${i} instanceof Memory
        const memory${i} = isSegment${i} ? value${i}.block : operandOf(value${i}, code)`,
  address: (i) => `const address${i} =
          isSegment${i} && memory${i}.address !== noAddress
            ? memory${i}.address + value${i}.base
            : addressIn(memory${i}, slot${i}, value${i})`,
  check: (i) => `if (memory${i}.gate.open === false || memory${i}.exposed === true) checkOperand(memory${i})`,
  store: (i) => `if (typeof address${i} === 'number') {
          words[slot${i}.word] = address${i}
          words[slot${i}.word + 1] = address${i} * perTwo32
        } else storeAddress(slot${i}, address${i})`,
}

/** The number of pointers from which they are handled by {@link inlineSteps}. */
const MANY_POINTERS = 3

function form(name: string): string {
  const order = name.replace('>', '')
  const all = [...order].map((_, i) => i)
  const pointers = all.filter((i) => order[i] === 'p')
  const isPlain = pointers.length === 0
  const steps = pointers.length < MANY_POINTERS ? callingSteps : inlineSteps
  const lines = (indices: readonly number[], line: (i: number) => string): string =>
    indices.map((i) => `        ${line(i)}\n`).join('')
  const body = [
    '        check(target, arguments.length)\n',
    traced(all),
    lines(pointers, steps.operand),
    lines(pointers, steps.address),
    isPlain ? '' : '        checkOperand(code)\n',
    lines(pointers, steps.check),
    '        begin(target)\n',
    lines(all, (i) => (order[i] === 'p' ? steps.store(i) : `storeScalar(slot${i}, value${i})`)),
    '        gate.calls++\n',
    lines(pointers, (i) => `memory${i}.gate.calls++`),
    guarded('          gate.calls--\n' + lines(pointers, (i) => `  memory${i}.gate.calls--`), 'enter()'),
    '        gate.calls--\n',
    lines(pointers, (i) => `memory${i}.gate.calls--`),
    '        return finish(target, code, undefined)\n',
  ]
  const hasTexts = /[t>]/.test(name)
  return `    ${/^\w+$/.test(name) ? name : `'${name}'`}: (target) => {
      const { code${hasTexts ? '' : ', gate, enter'} } = target
${all.length === 0 ? '' : `      const [${all.map((i) => `slot${i}`).join(', ')}] = target.slots as Slots\n`}      return function form(${all.map((i) => `value${i}`).join(', ')}) {
${hasTexts ? bodyWithTexts(order) : body.join('')}      }
    },
`
}

/** The form of calls with so many arguments of any kinds but text. Structs are seldom, so their orders have no forms of their own. */
function formOfAny(count: number): string {
  const all = Array.from({ length: count }, (_, i) => i)
  const lines = (line: (i: number) => string): string => all.map((i) => `        ${line(i)}\n`).join('')
  return `    '${'-'.repeat(count)}': (target) => {
      const { code, gate, enter } = target
      const [${all.map((i) => `slot${i}`).join(', ')}] = target.slots as Slots
      return function form(${all.map((i) => `value${i}`).join(', ')}) {
        check(target, arguments.length)
${traced(all)}${lines((i) => `const memory${i} = operandOf(value${i}, code)`)}${lines((i) => `const resolved${i} = resolveIn(memory${i}, slot${i}, value${i})`)}        checkOperand(code)
${lines((i) => `checkOperand(memory${i})`)}        begin(target)
${lines((i) => `store(slot${i}, resolved${i})`)}        gate.calls++
${lines((i) => `memory${i}.gate.calls++`)}${guarded('          gate.calls--\n' + lines((i) => `  memory${i}.gate.calls--`), 'enter()')}        gate.calls--
${lines((i) => `memory${i}.gate.calls--`)}        return finish(target, memory0, resolved0)
      }
    },
`
}

/** The arguments are listed, because compiled code would make the object `arguments` in each call if anything but its length were used. */
const traced = (all: readonly number[]): string =>
  `        if (isTraced()) return traceForm(form, target, [${all.map((i) => `value${i}`).join(', ')}])\n`

/** `finally` costs as much as two arguments. */
const guarded = (leave: string, perform: string): string => `        try {
          ${perform}
        } catch (error) {
${leave}          throw error
        }
`

/** The generated file. */
export const text: string = `// Generated by generate/call-forms.ts. Do not edit.
import { NO_ADDRESS } from '../memory/pointer-address.ts'
import { Segment } from '../memory/segment.ts'
import { callSteps, type Form, type Target } from '../native/call/call-steps.ts'
import { PER_TWO_32, words as frameWords } from '../native/call/frame.ts'
import { traceForm } from '../native/call/general-form.ts'
import { argumentSteps, type Slot } from '../native/call/store.ts'
import { isTraced as isAnyTraced } from '../tracing/tracing.ts'

type Slots = readonly [Slot, Slot, Slot, Slot, Slot, Slot]

/** A function, for the reason that \`makeSteps()\` has. */
function makeForms(): Readonly<Record<string, (target: Target) => Form>> {
  const { check, checkOperand, begin, performTexts, finish, finishTexts } = callSteps
  const { operandOf, resolveIn, addressIn, store, storeAddress, storeText, storeScalar } = argumentSteps
  const isTraced = isAnyTraced
  const [Memory, noAddress, perTwo32, words] = [Segment, NO_ADDRESS, PER_TWO_32, frameWords]
  return {
${orders().map(form).join('')}${[1, 2, 3, 4].map(formOfAny).join('')}  }
}

/**
 * The forms of calls by the order of their arguments: \`p\` is a pointer, \`t\` a text, and \`s\` a scalar; \`>\` ends those that return a text.
 * Those with \`-\` take so many arguments of any kinds but text.
 */
export const callForms: Readonly<Record<string, (target: Target) => Form>> = makeForms()
`

if (import.meta.main) writeFileSync(new URL('../src/generated/call-forms.ts', import.meta.url), text)
