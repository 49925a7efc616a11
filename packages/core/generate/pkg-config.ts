/** Writes `dist/pkgconfig/tenon.pc`, with which pkg-config finds the C headers. The build runs this program. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
const directory = new URL('../dist/pkgconfig/', import.meta.url)

mkdirSync(directory, { recursive: true })
writeFileSync(
  new URL('tenon.pc', directory),
  `prefix=\${pcfiledir}/../..
includedir=\${prefix}/include

Name: Tenon
Description: C headers for kernels that Node.js calls through Tenon
Version: ${version}
Cflags: -I\${includedir}
`,
)
