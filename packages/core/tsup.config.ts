import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary(['src/errors.ts', 'src/index.ts', 'src/internal.ts', 'src/koffi.ts', 'src/testing.ts'])
