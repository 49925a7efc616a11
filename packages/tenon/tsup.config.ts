import { globSync } from 'node:fs'
import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary(['src/index.ts', 'src/cli.ts', ...globSync('src/entries/*.ts')])
