import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary([
  'src/index.ts',
  'src/hidl.ts',
  'src/internal.ts',
  'src/driver-process.ts',
  'src/worker-process.ts',
])
