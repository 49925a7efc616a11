import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { receivePools } from 'tenon/pools'

const directory = mkdtempSync(join(tmpdir(), 'tenon-camera-'))
const path = join(directory, 'camera.sock')
const camera = spawn('python3', [fileURLToPath(new URL('camera.py', import.meta.url)), path], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
try {
  const lines = createInterface(camera.stdout)[Symbol.asyncIterator]()
  console.log((await lines.next()).value)

  const { pools, bytes } = await receivePools(path, { rights: 'writable', label: 'frames' })
  using frame = pools[0]!
  const { width, height } = JSON.parse(Buffer.from(bytes).toString()) as { width: number; height: number }
  const pixels = frame.read(0, width * height)
  console.log(`typescript: reads ${width} x ${height} pixels, the last is`, pixels.at(-1))
  frame.write(
    0,
    pixels.map((pixel) => 255 - pixel),
  )

  camera.stdin.end('\n')
  console.log((await lines.next()).value)
} finally {
  camera.kill()
  rmSync(directory, { recursive: true })
}
