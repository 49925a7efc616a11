import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary(['src/index.ts', 'src/bind.ts', 'src/internal.ts', 'src/linker.ts', 'src/testing.ts'])
