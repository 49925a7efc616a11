import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { demangle } from '../../src/demangle/demangle.ts'

describe('demangle()', () => {
  test.each([
    ['_ZN4deep3BoxIiE3getEPS1_', 'deep::Box<int>::get(deep::Box<int>*)'],
    ['_ZNK4deep12_GLOBAL__N_14Node3sumEv', 'deep::(anonymous namespace)::Node::sum() const'],
    ['_ZZ6kernelENKUliE_clEi', 'kernel::{lambda(int)#1}::operator()(int) const'],
    ['_Z5applyIiEPFT_S0_EPFcvE', 'int (*apply<int>(char (*)()))(int)'],
    ['_ZN1AcvT_IiEEv', 'A::operator int<int>()'],
    ['_Z1fIJiPKcEEvDpOT_', 'void f<int, char const*>(int&&, char const*&&)'],
    [
      '_ZNSsC1EPKcRKSaIcE',
      'std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(char const*, std::allocator<char> const&)',
    ],
    [
      '_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc',
      'std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)',
    ],
    ['_Z1fPA3_A2_iM1AFvvEMS2_i', 'f(int (*) [3][2], void (A::*)(), int A::*)'],
    ['_ZThn16_N1B1fEv', 'non-virtual thunk to B::f()'],
    ['_Z6kerneli.isra.0.cold', 'kernel(int) [clone .isra.0] [clone .cold]'],
  ])('gives %s the name %s', (symbol, name) => {
    expect(demangle(symbol)).toBe(name)
  })

  test.each([
    ['_ZN4core3fmt5write17h0123456789abcdefE', 'core::fmt::write'],
    [
      '_ZN58_$LT$std..io..Cursor$LT$T$GT$$u20$as$u20$std..io..Read$GT$4read17h0123456789abcdefE',
      '<std::io::Cursor<T> as std::io::Read>::read',
    ],
    ['_RNvNtCsgEmfK2I1SDS_4core6option13unwrap_failed', 'core::option::unwrap_failed'],
    ['_RNCNvC1r6kernel0B3_', 'r::kernel::{closure#0}'],
    ['_RINvC1r1fDG_INtC1r1FRL0_hEEL_E', "r::f::<dyn for<'a> r::F<&'a u8>>"],
    ['_RINvC1r1fFUKCAhj3_PxEuTbEE', 'r::f::<unsafe extern "C" fn([u8; 3], *const i64), (bool,)>'],
    ['_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y', 'utf8_idents::საჭმელად_გემრიელი_სადილი'],
  ])('gives %s the Rust name %s', (symbol, name) => {
    expect(demangle(symbol)).toBe(name)
  })

  test('names of C, damaged names and names of other grammars stay as they are', () => {
    for (const name of [
      'kernel',
      '',
      '_Z',
      '_ZN',
      '_Z3f',
      '_Z1fT_',
      '_ZNE',
      '_R',
      '_RC',
      '_ZN1aE17h',
      '$s4main',
      '?f@@YAXXZ',
    ])
      expect(demangle(name)).toBe(name)
  })

  test('hostile names are answered at once, within bounds', () => {
    const doubling = `_Z1fI1A${'1BIS_S_E'.repeat(200)}Ev`
    const nested = `_Z1f${'P'.repeat(10_000)}i`
    const packs = `_Z1fIJ${'i'.repeat(500)}EEv${'DpSt4pairI'.repeat(20)}T_${'E'.repeat(20)}`
    const references = `_RNvINtC1r1a${'TB3_B3_E'.repeat(500)}E1f`
    const exponential = `_RNvMC1r${'T'.repeat(50)}${'B_'.repeat(100)}1f`
    for (const name of [
      doubling,
      nested,
      packs,
      references,
      exponential,
      `_Z${'9'.repeat(9)}f`,
      `_ZN${'S_'.repeat(9000)}E`,
    ])
      expect(demangle(name).length).toBeLessThanOrEqual(200_000)
  })

  test('changed names give a text', () => {
    const seeds = [
      '_ZN4llvm17make_filter_rangeIRKNS_10BasicBlockESt8functionIFbRKNS_11InstructionEEEEENS_14iterator_rangeINS_20filter_iterator_implIDTclsr3stdE5beginclsr3stdE7declvalIRT_EEEET0_NS_6detail15fwd_or_bidi_tagISE_E4typeEEEEEOSC_SF_',
      '_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRINtNtCslNYArtu3iFV_5alloc5boxed3BoxDNtNtB8_5error5ErrorNtNtB8_6marker4SyncNtB1r_4SendEL_ENtB6_5Debug3fmtCsjrHSEGnQ3l9_3std',
    ]
    const letters = fc.constantFrom(...'IEJDpTS_0123NKPRFAMLXCBZUlvistGnQud')
    fc.assert(
      fc.property(
        fc.constantFrom(...seeds),
        fc.array(fc.tuple(fc.nat(300), letters), { minLength: 1, maxLength: 6 }),
        (seed, changes) => {
          const text = [...seed]
          for (const [at, letter] of changes) text[at % text.length] = letter
          expect(demangle(text.join('')).length).toBeGreaterThan(0)
        },
      ),
      { numRuns: 3000 },
    )
  })
})

const library = ['/usr/lib/x86_64-linux-gnu/libstdc++.so.6', '/usr/lib/aarch64-linux-gnu/libstdc++.so.6'].find((path) =>
  existsSync(path),
)
if (library !== undefined)
  test('the names of libstdc++ are those of c++filt', () => {
    const names = execFileSync(
      'nm',
      ['-D', '--defined-only', '-f', 'just-symbols', '--without-symbol-versions', library],
      {
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      },
    )
      .split('\n')
      .filter((name) => name.startsWith('_Z'))
    const expected = execFileSync('c++filt', ['-i'], {
      input: names.join('\n'),
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    }).split('\n')
    expect(names.length).toBeGreaterThan(1000)
    expect(names.filter((name, index) => demangle(name) !== expected[index])).toEqual([])
  })
