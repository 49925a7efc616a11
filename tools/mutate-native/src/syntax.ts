import { createRequire } from 'node:module'

import { Language, type Node, Parser } from 'web-tree-sitter'

/** Reads C, and returns the root of its tree. Macros are not expanded. */
export type ParseC = (source: string) => Node

/** Loads the parser. */
export async function loadParser(): Promise<ParseC> {
  await Parser.init()
  const parser = new Parser()
  parser.setLanguage(await Language.load(createRequire(import.meta.url).resolve('tree-sitter-c/tree-sitter-c.wasm')))
  return (source) => {
    const tree = parser.parse(source)
    if (tree === null) throw new Error('the parser returned no tree')
    return tree.rootNode
  }
}
