import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { tensor } from 'tenon'
import { SharedMemory } from 'tenon/pools'

const client = fileURLToPath(new URL('client.py', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'tenon-shared-'))
try {
  using memory = SharedMemory.open({ chunk: '1 MiB', label: 'example' })
  const image = tensor('f32', [2, 3], undefined, { allocator: memory })
  const roots = tensor('f32', [2, 3], undefined, { allocator: memory })
  image.set([
    [1, 4, 9],
    [16, 25, 36],
  ])
  using exported = await memory.export({ name: 'example', directory, tensors: { image, roots } })
  const { stdout } = await promisify(execFile)('python3', [client, exported.path, 'image', 'roots'])
  console.log(stdout.trim())
  console.log('typescript: reads', JSON.stringify(roots.toNested()))
} finally {
  rmSync(directory, { recursive: true })
}
