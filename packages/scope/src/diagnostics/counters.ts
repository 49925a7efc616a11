/** What `ResourceScope.stats()` reports, counted where it happens. Of this thread. */
export const counters: { openScopes: number; liveBytes: number; liveStubs: number } = {
  openScopes: 0,
  liveBytes: 0,
  liveStubs: 0,
}
