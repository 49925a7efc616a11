import { esmLibrary } from '@tenon/config/tsup'

export default esmLibrary(['src/index.ts'])
