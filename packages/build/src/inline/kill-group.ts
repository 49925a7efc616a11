/** Ends a group of processes, of which some may have ended. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All have ended.
  }
}
