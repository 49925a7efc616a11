/** Calls `action` for each item, at most `limit` at once; the first failure stops the rest from starting. */
export async function mapLimited<T>(
  limit: number,
  items: readonly T[],
  action: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items]
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await action(item).catch((error: unknown) => {
        queue.length = 0
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: limit }, worker))
}
