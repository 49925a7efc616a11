import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { inspect } from 'node:util'
import { methodOf, type NativeObject, type PackedFuncError } from 'tenon/packed-func'
import type { CompiledGrammar, GrammarMatcher, XGrammar } from './library.ts'
import { allowed, masks, STOP, tokenizer, vocabulary } from './vocabulary.ts'

/** The cases by name. Each case throws if the library behaves differently. */
export type Cases = Readonly<Record<string, () => void | Promise<void>>>

const schema = JSON.stringify({
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
  additionalProperties: false,
})

const digits = [...'0123456789']

/** The cases for the classes of a library. */
export function casesOf(library: XGrammar): Cases {
  const { TokenizerInfo, Grammar, CompiledGrammar, GrammarCompiler, GrammarMatcher, BatchGrammarMatcher } = library
  const info = tokenizer(library)
  const compiler = new GrammarCompiler(info, 2, true, -1)
  const matcherOf = (compiled: CompiledGrammar): GrammarMatcher => new GrammarMatcher(compiled, null, false, 100)
  const accepts = (compiled: CompiledGrammar, text: string): boolean => {
    const matcher = matcherOf(compiled)
    return matcher.acceptString(text, false) && matcher.acceptToken(STOP, false) && matcher.isTerminated()
  }

  return {
    'a tokenizer knows its vocabulary': () => {
      equal(info.vocabSize(), vocabulary.length)
      deepEqual(info.stopTokenIds(), [STOP])
      equal(Buffer.from(info.decodedVocab()[1]!).toString(), ' ')
    },
    'a tokenizer is made again of its metadata': () => {
      const again = TokenizerInfo.fromVocabAndMetadata([...vocabulary], info.dumpMetadata())
      ok(again instanceof TokenizerInfo)
      equal(again.dumpMetadata(), info.dumpMetadata())
    },
    'a grammar of a JSON schema accepts its values': () => {
      const grammar = Grammar.fromJsonSchema(schema, false, null, null, true, null, false, false)
      match(String(grammar), /root ::= /)
      const compiled = compiler.compileGrammarEbnf(grammar)
      ok(accepts(compiled, '{"ok": true}'))
      ok(!accepts(compiled, '{"no": true}'))
    },
    'a compiler compiles a JSON schema': () => {
      const compiled = compiler.compileJsonSchema(schema, false, null, [',', ':'], true, null, false)
      ok(accepts(compiled, '{"ok":false}'))
      ok(!accepts(compiled, '{}'))
    },
    'a grammar of EBNF accepts its language': () => {
      const compiled = compiler.compileGrammarFromStrings('root ::= "a" root | "b"', 'root')
      ok(accepts(compiled, 'aaab'))
      ok(!accepts(compiled, 'aaa'))
    },
    'a grammar of a regular expression accepts its language': () => {
      const compiled = compiler.compileRegex('[0-9]+')
      ok(accepts(compiled, '2026'))
      ok(!accepts(compiled, 'x'))
      match(String(Grammar.fromRegex('[0-9]+', false)), /\[0-9\]/)
    },
    'grammars are combined': () => {
      const [a, b] = ['a', 'b'].map((text) => Grammar.fromEbnf(`root ::= "${text}"`, 'root'))
      const either = compiler.compileGrammarEbnf(Grammar.union([a!, b!]))
      const both = compiler.compileGrammarEbnf(Grammar.concat([a!, b!]))
      ok(accepts(either, 'b') && !accepts(either, 'ab'))
      ok(accepts(both, 'ab') && !accepts(both, 'b'))
    },
    'grammars and compiled grammars are written and read': () => {
      const grammar = Grammar.fromEbnf('root ::= "a" | "b"', 'root')
      equal(String(Grammar.deserializeJson(grammar.serializeJson())), String(grammar))
      const compiled = compiler.compileGrammarEbnf(grammar)
      ok(accepts(CompiledGrammar.deserializeJson(compiled.serializeJson(), info), 'b'))
      ok(compiled.memorySizeBytes() > 0)
      ok(compiled.grammar() instanceof Grammar && compiled.tokenizerInfo() instanceof TokenizerInfo)
    },
    'a matcher follows the builtin grammar of JSON': () => {
      const matcher = matcherOf(compiler.compileBuiltinJsonGrammar())
      ok(matcher.acceptString('{"a": [1, 2', false))
      ok(!matcher.acceptString('}', false))
      ok(!matcher.isTerminated())
      ok(matcher.acceptString(Buffer.from(']}'), false))
    },
    'a bitmask has the tokens that may follow': () => {
      const matcher = matcherOf(compiler.compileRegex('[0-9]+'))
      const mask = masks(1)
      ok(matcher.fillNextTokenBitmask(mask, 0, false))
      deepEqual(allowed(mask), digits)
      ok(matcher.acceptToken(vocabulary.indexOf('7'), false))
      matcher.fillNextTokenBitmask(mask, 0, false)
      deepEqual(allowed(mask), ['</s>', ...digits])
    },
    'a matcher jumps forward, rolls back, forks and starts again': () => {
      const matcher = matcherOf(compiler.compileGrammarFromStrings('root ::= "yes" | "year"', 'root'))
      equal(matcher.findJumpForwardString(), 'ye')
      ok(matcher.acceptToken(vocabulary.indexOf('y'), false))
      ok(matcher.acceptToken(vocabulary.indexOf('e'), false))
      const fork = matcher.fork()
      ok(fork instanceof GrammarMatcher && !fork.sameAs(matcher))
      ok(fork.acceptString('s', false))
      matcher.rollback(1)
      equal(matcher.findJumpForwardString(), 'e')
      matcher.reset()
      equal(matcher.findJumpForwardString(), 'ye')
    },
    'a batch fills the bitmasks of several matchers': () => {
      const matchers = ['[0-9]', 'a'].map((regex) => matcherOf(compiler.compileRegex(regex)))
      const mask = masks(2)
      new BatchGrammarMatcher(2).batchFillNextTokenBitmask(matchers, mask, null, false)
      deepEqual([allowed(mask, 0), allowed(mask, 1)], [digits, ['a']])
      deepEqual(BatchGrammarMatcher.batchAcceptString(matchers, ['7', 'b'], false), [1, 0])
    },
    'a grammar is compiled on another thread': async () => {
      const compile = methodOf(GrammarCompiler, 'compile_regex')
      const compiled = await Promise.all(['a+', 'b+', 'c+'].map((regex) => compile.async(compiler, regex)))
      const found = compiled.map((one) => (one as NativeObject).as(CompiledGrammar))
      deepEqual(
        found.map((one) => accepts(one, 'bb')),
        [false, true, false],
      )
    },
    'errors of the library have its kinds, and objects print': () => {
      throws(
        () => Grammar.deserializeJson('{'),
        (error: PackedFuncError) => error.kind.endsWith('Error'),
      )
      throws(() => new (Grammar as unknown as new () => NativeObject)(), /Grammar has no constructor/)
      equal(inspect(compiler), 'GrammarCompiler {}')
      const matcher = matcherOf(compiler.compileRegex('a'))
      matcher.close()
      throws(() => matcher.reset(), { name: 'ScopeClosedError' })
    },
  }
}
