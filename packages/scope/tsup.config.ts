import { esmLibrary } from '@tenon/config/tsup'

// What the other packages use besides index and linker is loaded with the first isolated library.
export default esmLibrary(
  ['src/index.ts', 'src/bind.ts', 'src/internal.ts', 'src/linker.ts', 'src/testing.ts'],
  ['index.js', 'linker.js'],
)
