import assert from 'node:assert/strict'
import { type DType, ScopeClosedError, ScopeHeldError, Tensor, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'
import {
  checkPair,
  closeReleased,
  type Pair,
  collect,
  inPlace,
  lent,
  matrix,
  refused,
  reordered,
  tensorCollected,
} from './pair.ts'
import { evaluate, offer, python, takeOver } from './python.ts'

/** A library of Python that speaks DLPack 1. The members are expressions of Python. */
export interface DlpackLibrary {
  readonly setup: string
  /** The matrix. */
  readonly whole: string
  /** The scalar. */
  readonly scalar: string
  /** The matrix `x` with its second axis reversed. */
  readonly reversed: string
  /** Whether that is a copy. */
  readonly reverses: boolean
  addressOf(name: string): string
  readonly fromDlpack: string
  /** The types of elements that both have, by their names in the library and in Tenon. */
  readonly types: Readonly<Record<string, DType>>
  /** A tensor of zeros with two elements of a type. */
  zeros(type: string): string
  readonly others?: Pair['others']
}

/** Each tensor of the library keeps a name of its own. */
let count = 0

export async function checkDlpack(library: DlpackLibrary): Promise<void> {
  const { whole, scalar, reversed, addressOf, fromDlpack } = library
  python(library.setup)

  /** A tensor of the library, as Tenon gets it. */
  function give(expression: string): { x: Tensor; memory: bigint } {
    const name = `given_${count++}`
    python(`x = ${whole}\n${name} = ${expression}`)
    const x = takeOver(name)
    if (!(x instanceof Tensor)) throw new Error(x.reason)
    return { x, memory: BigInt(evaluate(addressOf(name)) as number) }
  }

  /** Tenon's memory as a tensor of the library. */
  function take(x: Tensor): { read(): unknown; memory: bigint; release(): void } {
    const name = `taken_${count++}`
    python(`${name} = ${fromDlpack}(${offer(x)})`)
    return {
      release: () => python(`del ${name}\ngc.collect()`),
      read: () => evaluate(`${name}.tolist()`),
      memory: BigInt(evaluate(addressOf(name)) as number),
    }
  }

  await checkPair({
    values: matrix,
    toTenon: {
      contiguous: inPlace(() => give('x')),
      transposed: inPlace(() => give('x.T')),
      sliced: inPlace(() => give('x[:, 1:3]')),
      reversed: library.reverses ? reordered(() => give(reversed)) : refused(() => give(reversed), /negative/),
      'no elements': inPlace(() => give('x[:0]')),
      '0-d': inPlace(() => give(scalar)),
    },
    fromTenon: {
      contiguous: lent(take),
      transposed: lent(take),
      sliced: lent(take),
      'no elements': lent(take),
      '0-d': lent(take),
    },
    lifetimes: [
      {
        closed: 'all names of Python for the tensor',
        left: 'the memory stays',
        async check() {
          python(`import weakref\nx = ${whole}\ngone = []\nwatched = weakref.finalize(x, gone.append, 1)`)
          const x = takeOver('x') as Tensor
          python('del x\ngc.collect()')
          await collect()
          assert.deepEqual(x.toNested(), matrix.contiguous)
          assert.deepEqual(evaluate('gone'), [])
          // Python frees its tensor when Tenon has released it, once.
          ;(x.segment.lifetime as unknown as { close(): void }).close()
          assert.throws(() => x.toArray(), ScopeClosedError)
          assert.deepEqual(evaluate('gone'), [1])
        },
      },
      {
        closed: 'the scope of a tensor that Python has',
        left: '`ScopeHeldError`, the memory stays',
        async check() {
          const scope = NativeScope.ofConfined()
          const { read, release } = take(tensor('f32', [2], [1, 2], { allocator: scope }))
          assert.throws(() => scope.close(), ScopeHeldError)
          await collect()
          assert.deepEqual(read(), [1, 2])
          release()
          await closeReleased(scope)
        },
      },
      tensorCollected(take),
    ],
    others: {
      'types of elements in both directions'() {
        for (const [name, dtype] of Object.entries(library.types)) {
          const { x, memory } = give(library.zeros(name))
          assert.deepEqual([x.dtype, x.shape, x.segment.address], [dtype, [2], memory])
          const { memory: back } = take(tensor(dtype, [2]))
          assert.notEqual(back, 0n)
          assert.equal(evaluate(`str(taken_${count - 1}.dtype)`), evaluate(`str(${library.zeros(name)}.dtype)`))
        }
      },
      ...library.others,
    },
  })
}
