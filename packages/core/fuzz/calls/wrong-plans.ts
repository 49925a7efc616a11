import type { CallPlan, ParameterPlan } from '../../src/native/call/call-plan.ts'
import { FLAGS, WORDS } from '../../src/native/call/frame-layout.ts'

/** Changes a correct plan. Returns undefined if there is nothing to change in it. */
export type Mistake = (plan: CallPlan) => CallPlan | undefined

const isGeneral = (word: number): boolean => word >= WORDS.general && word < WORDS.vector
const isVector = (word: number): boolean => word >= WORDS.vector && word < WORDS.stack
const isStack = (word: number): boolean => word >= WORDS.stack
const isScalar = ({ kind }: ParameterPlan): boolean => kind !== 'struct' && kind !== 'indirect'

const moved = (parameter: ParameterPlan, word: number): ParameterPlan => ({
  ...parameter,
  word,
  byteOffset: word * 4,
  pieces: parameter.pieces.map((piece) => ({ ...piece, word: piece.word + word - parameter.word })),
})

/** Changes the last parameter that matches, which is behind the `...` of some variadic signatures. */
function changeLast(
  plan: CallPlan,
  matches: (parameter: ParameterPlan) => boolean,
  change: (parameter: ParameterPlan) => ParameterPlan,
): CallPlan | undefined {
  const at = plan.parameters.findLastIndex(matches)
  if (at === -1) return undefined
  // The place that a moved argument takes must exist.
  const stackSize = plan.stackSize + 16
  return { ...plan, stackSize, parameters: plan.parameters.with(at, change(plan.parameters[at]!)) }
}

/** Exchanges the places of the first two parameters that match. */
function exchangeTwo(plan: CallPlan, matches: (parameter: ParameterPlan) => boolean): CallPlan | undefined {
  const [first, second] = plan.parameters.filter(matches)
  if (first === undefined || second === undefined) return undefined
  const parameters = plan.parameters.map((parameter) => {
    if (parameter === first) return moved(first, second.word)
    return parameter === second ? moved(second, first.word) : parameter
  })
  return { ...plan, parameters }
}

const toGeneral = (word: number): number => WORDS.general + ((word - WORDS.vector) % 8)

/** Wrong plans, each of which the comparison must find. Not every convention has a signature for each of them. */
export const mistakes: Readonly<Record<string, Mistake>> = {
  'an integer is one register too far': (plan) =>
    changeLast(
      plan,
      (one) => isScalar(one) && isGeneral(one.word),
      (one) => moved(one, one.word + 2),
    ),
  'a float is one register too far': (plan) =>
    changeLast(
      plan,
      (one) => isScalar(one) && isVector(one.word),
      (one) => moved(one, one.word + 2),
    ),
  'two integers are exchanged': (plan) => exchangeTwo(plan, (one) => isScalar(one) && isGeneral(one.word)),
  'two floats are exchanged': (plan) => exchangeTwo(plan, (one) => isScalar(one) && isVector(one.word)),
  'a float is in an integer register': (plan) =>
    changeLast(
      plan,
      (one) => isScalar(one) && isVector(one.word) && one.second < 0,
      (one) => moved(one, toGeneral(one.word)),
    ),
  'a stack argument is 8 bytes too high': (plan) =>
    changeLast(
      plan,
      (one) => isScalar(one) && isStack(one.word),
      (one) => moved(one, one.word + 2),
    ),
  'a struct on the stack is 8 bytes too high': (plan) =>
    changeLast(
      plan,
      (one) => one.kind === 'struct' && isStack(one.word),
      (one) => moved(one, one.word + 2),
    ),
  'the floats of a struct are in integer registers': (plan) =>
    changeLast(
      plan,
      (one) => one.kind === 'struct' && one.pieces.some(({ word }) => isVector(word)),
      (one) => ({
        ...one,
        pieces: one.pieces.map((piece) => (isVector(piece.word) ? { ...piece, word: toGeneral(piece.word) } : piece)),
      }),
    ),
  'two registers of a struct are exchanged': (plan) =>
    changeLast(
      plan,
      (one) => one.pieces.length === 2,
      (one) => {
        const [first, second] = one.pieces as [ParameterPlan['pieces'][number], ParameterPlan['pieces'][number]]
        return {
          ...one,
          pieces: [
            { ...first, word: second.word },
            { ...second, word: first.word },
          ],
        }
      },
    ),
  'the last bytes of a struct are missing': (plan) =>
    changeLast(
      plan,
      (one) => one.kind === 'struct' && one.pieces.at(-1)!.byteSize === 8,
      (one) => ({ ...one, pieces: [...one.pieces.slice(0, -1), { ...one.pieces.at(-1)!, byteSize: 4 }] }),
    ),
  'vector registers are not loaded': (plan) =>
    (plan.flags & FLAGS.VECTORS) === 0 ? undefined : { ...plan, flags: plan.flags & ~FLAGS.VECTORS },
  'the number of vector registers is 0': (plan) => (plan.vectorCount === 0 ? undefined : { ...plan, vectorCount: 0 }),
  'a variadic float is in a vector register only': (plan) =>
    changeLast(
      plan,
      (one) => one.second >= 0,
      (one) => ({ ...one, second: -1 }),
    ),
  'a result is in the wrong kind of register': ({ result, ...plan }) => {
    if (result.kind === 'float32' || result.kind === 'float64') {
      return { ...plan, result: { ...result, word: WORDS.generalResults } }
    }
    return undefined
  },
  'two registers of a result are exchanged': ({ result, ...plan }) => {
    const [first, second, ...rest] = result.pieces
    if (first === undefined || second === undefined) return undefined
    const pieces = [{ ...first, word: second.word }, { ...second, word: first.word }, ...rest]
    return { ...plan, result: { ...result, pieces } }
  },
  'a struct is passed by reference': (plan) =>
    changeLast(
      plan,
      (one) => one.kind === 'struct' && isGeneral(one.word),
      (one) => ({ ...one, kind: 'indirect' }),
    ),
}
