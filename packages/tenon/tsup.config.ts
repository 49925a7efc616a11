import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary([
  'src/index.ts',
  'src/cli.ts',
  'src/core.ts',
  'src/scope.ts',
  'src/custom-call.ts',
  'src/packed-func.ts',
  'src/tstring.ts',
  'src/pools.ts',
])
