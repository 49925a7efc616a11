/** The URL of a library as modules of `tenon types` write it: `new URL('../build/libk.so', import.meta.url)`. */
export const libraryUrl: RegExp =
  /\bnew URL\(\s*(['"])([^'"\n]+\.(?:so(?:\.\d+)*|dylib|dll))\1,\s*import\.meta\.url,?\s*\)/g
