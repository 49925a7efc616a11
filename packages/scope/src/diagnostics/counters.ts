/** The counts behind `ResourceScope.stats()` of this thread, updated by the code that opens and closes. */
export const counters: { openScopes: number; liveBytes: number; liveStubs: number } = {
  openScopes: 0,
  liveBytes: 0,
  liveStubs: 0,
}
