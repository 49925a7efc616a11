import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary([
  'src/index.ts',
  'src/internal.ts',
  'src/private-directory.ts',
  'src/debug-info/debug-info.ts',
])
