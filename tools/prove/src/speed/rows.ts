import type { Contestants, Row } from '@tenon/bench'
import { separateBody } from '@tenon/bench'
import { type Contestant, isTenon, type Offered, type Operations } from '../contestant.ts'

/** The work of a row: what is made once for each contestant, and the source of the body that is measured. */
export interface Work {
  readonly name: string
  readonly needs: readonly (keyof Operations)[]
  /** Makes the values that the body names, and checks once that the result is right. @throws {Error} if it is not */
  prepare(operations: Operations): Promise<{ readonly [name: string]: unknown }> | { readonly [name: string]: unknown }
  /** A function expression, which is compiled for each contestant alone. */
  readonly body: string
  /** Whether contestants with a process or a thread of their own are measured, instead of those in this thread. */
  readonly isRemote?: boolean
}

/** A contestant that was opened. */
export interface Opened {
  readonly contestant: Contestant
  readonly offered: Offered
}

/** Returns the row of a work for the contestants that offer it, or nothing if none of them is a peer of Tenon. */
export function rowOf(work: Work, opened: readonly Opened[]): Row[] {
  const able = opened.filter(
    ({ contestant, offered }) =>
      (contestant.isRemote ?? false) === (work.isRemote ?? false) &&
      work.needs.every((name) => offered[name] !== undefined),
  )
  const ours = able.find(({ contestant }) => isTenon(contestant.name))
  const peers = able.filter(({ contestant }) => !isTenon(contestant.name))
  if (ours === undefined || peers.length === 0) return []
  const bodyOf = async ({ contestant, offered }: Opened): Promise<Contestants['ours']> => {
    try {
      return separateBody(work.body, await work.prepare(offered as Operations))
    } catch (error) {
      throw new Error(`${contestant.name}: ${(error as Error).message}`, { cause: error })
    }
  }
  return [
    {
      name: work.name,
      unit: 'ns',
      setup: async () => {
        const bodies: Record<string, Contestants['ours']> = {}
        for (const peer of peers) {
          try {
            bodies[peer.contestant.name] = await bodyOf(peer)
          } catch (error) {
            // A rival that does the work wrong is not measured: the lines of values say what it does.
            process.stderr.write(`  not measured: ${work.name}: ${(error as Error).message}\n`)
          }
        }
        return { ours: await bodyOf(ours), peers: bodies }
      },
    },
  ]
}
