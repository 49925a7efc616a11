import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary(['src/index.ts', 'src/internal.ts', 'src/bin/build.ts', 'src/bin/test.ts'])
