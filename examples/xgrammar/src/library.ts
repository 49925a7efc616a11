import type { Tensor } from 'tenon'
import { Module, types, type NativeObject } from 'tenon/packed-func'

/** A class of the library. `tenon types` writes such declarations: these are the members that the example uses. */
interface ClassOf<T extends NativeObject, Values extends readonly unknown[]> {
  new (...values: Values): T
  readonly prototype: T
}

export interface TokenizerInfo extends NativeObject {
  vocabSize(): number
  stopTokenIds(): number[]
  decodedVocab(): Uint8Array[]
  dumpMetadata(): string
}

export interface Grammar extends NativeObject {
  serializeJson(): string
}

export interface CompiledGrammar extends NativeObject {
  grammar(): Grammar
  tokenizerInfo(): TokenizerInfo
  memorySizeBytes(): number
  serializeJson(): string
}

export interface GrammarCompiler extends NativeObject {
  compileBuiltinJsonGrammar(): CompiledGrammar
  compileRegex(regex: string): CompiledGrammar
  compileGrammarFromStrings(ebnf: string, root: string): CompiledGrammar
  compileGrammarEbnf(grammar: Grammar): CompiledGrammar
  compileJsonSchema(
    ...values: [string, boolean, number | null, string[] | null, boolean, number | null, boolean]
  ): CompiledGrammar
  getCacheSizeBytes(): number
  clearCache(): null
}

export interface GrammarMatcher extends NativeObject {
  acceptString(text: string | Uint8Array, debug: boolean): boolean
  acceptToken(id: number, debug: boolean): boolean
  fillNextTokenBitmask(mask: Tensor, index: number, debug: boolean): boolean
  findJumpForwardString(): string
  isTerminated(): boolean
  rollback(count: number): null
  reset(): null
  fork(): GrammarMatcher
}

export interface BatchGrammarMatcher extends NativeObject {
  batchFillNextTokenBitmask(
    matchers: readonly GrammarMatcher[],
    masks: Tensor,
    rows: readonly number[] | null,
    debug: boolean,
  ): null
}

/** The classes of xgrammar. Its methods return `ffi.Object`, and the objects are of these classes. */
export interface XGrammar {
  readonly TokenizerInfo: ClassOf<TokenizerInfo, [(string | Uint8Array)[], number, number, number[], boolean]> & {
    fromVocabAndMetadata(vocabulary: (string | Uint8Array)[], metadata: string): TokenizerInfo
  }
  readonly Grammar: ClassOf<Grammar, never> & {
    fromEbnf(text: string, root: string): Grammar
    fromRegex(regex: string, print: boolean): Grammar
    fromJsonSchema(
      ...values: [string, boolean, number | null, string[] | null, boolean, number | null, boolean, boolean]
    ): Grammar
    union(grammars: readonly Grammar[]): Grammar
    concat(grammars: readonly Grammar[]): Grammar
    deserializeJson(text: string): Grammar
  }
  readonly CompiledGrammar: ClassOf<CompiledGrammar, never> & {
    deserializeJson(text: string, info: TokenizerInfo): CompiledGrammar
  }
  readonly GrammarCompiler: ClassOf<GrammarCompiler, [TokenizerInfo, number, boolean, number]>
  readonly GrammarMatcher: ClassOf<
    GrammarMatcher,
    [CompiledGrammar, number[] | null, boolean, number, (number | null)?]
  >
  readonly BatchGrammarMatcher: ClassOf<BatchGrammarMatcher, [number | 'auto']> & {
    batchAcceptString(
      matchers: readonly GrammarMatcher[],
      texts: readonly (string | Uint8Array)[],
      debug: boolean,
    ): number[]
  }
}

/** Opens an xgrammar library, which registers its classes. @throws {LoadError} if it cannot be loaded */
export function openLibrary(path: string): XGrammar {
  Module.open(path)
  return types('xgrammar.tvm_ffi_binding') as unknown as XGrammar
}
