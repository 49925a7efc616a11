/** Whether the engine makes buffers larger than 4 GiB, which Bun does not. */
export const hasLargeBuffers: boolean = makes(2 ** 32 + 1)

function makes(byteLength: number): boolean {
  try {
    return new ArrayBuffer(byteLength).byteLength === byteLength
  } catch {
    return false
  }
}
