import { availableParallelism } from 'node:os'

/** Runs a task for each item, as many at the same time as there are processors. @returns the results in the order of the items */
export async function inLanes<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const left = items.entries()
  const lane = async (): Promise<void> => {
    for (const [i, item] of left) results[i] = await run(item)
  }
  const ends = await Promise.allSettled(Array.from({ length: availableParallelism() }, lane))
  // After the end of all lanes, so that nothing runs any more.
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return results
}
