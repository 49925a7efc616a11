import { expect, describe, test } from 'vitest'
import { handlerSignatures, handlerText } from '../src/signatures/handler-signatures.ts'
import { classOfMember } from '../src/signatures/itanium-type.ts'

/** The symbols that gcc 12 emits for handlers that use XLA's own header, of version 0.2 and of the first version 0.1. */
const symbols = {
  norm: [
    '_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFNS0_5ErrorEfNS0_4SpanIKlEESt17basic_string_viewIcSt11',
    'char_traitsIcEENS0_6BufferILNS0_8DataTypeE11ELm18446744073709551615EEENS0_9AnyBufferENS0_6ResultINSB',
    '_ILSC_4ELm18446744073709551615EEEEENSF_INSB_ILSC_12ELm1EEEEEEJNS0_8internal7AttrTagIfEENSN_IS6_EENSN',
    '_ISA_EENSM_6ArgTagISD_EENSR_ISE_EENSM_6RetTagISG_EENSU_ISI_EEEE4CallEP17XLA_FFI_CallFrame',
  ].join(''),
  oldNorm: [
    '_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFNS0_5ErrorEfNS0_4SpanIKlEESt17basic_string_viewIcSt11',
    'char_traitsIcEENS0_6BufferILNS0_8DataTypeE11ELm18446744073709551615EEENS0_9AnyBufferENS0_6ResultINSB',
    '_ILSC_4ELm18446744073709551615EEEEENSF_INSB_ILSC_12ELm1EEEEEEJNS0_8internal7AttrTagIfEENSN_IS6_EENSN',
    '_ISA_EESD_SE_NSM_6RetTagISG_EENSR_ISI_EEEE4CallEP17XLA_FFI_CallFrame',
  ].join(''),
  instantiate: [
    '_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE0EPFNS0_7ErrorOrISt10unique_ptrI2StSt14default_deleteIS5_',
    'EEEEbEJNS0_8internal7AttrTagIbEEEE4CallEP17XLA_FFI_CallFrame',
  ].join(''),
  remaining: [
    '_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFNS0_5ErrorENS0_13RemainingArgsENS0_13RemainingRetsEiE',
    'JNS0_8internal16RemainingArgsTagENS8_16RemainingRetsTagENS8_7AttrTagIiEEEE4CallEP17XLA_FFI_CallFrame',
  ].join(''),
  stateful: [
    '_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFNS0_5ErrorEP2StNS0_6ResultINS0_6BufferILNS0_8DataType',
    'E9ELm0EEEEEEJNS0_8internal6CtxTagINS0_5StateIS4_EEEENSD_6RetTagIS9_EEEE4CallEP17XLA_FFI_CallFrame',
  ].join(''),
}

describe('handlerSignatures()', () => {
  test.each(['norm', 'oldNorm'] as const)('reads the attributes, operands and results of %s', (name) => {
    expect(handlerSignatures([symbols[name]]).map(handlerText)).toEqual([
      'execute(attr float32, attr int64[], attr string, arg float32[...], arg any[...], ret int32[...], ret float64[?])',
    ])
  })

  test('lists stages, states and other bindings once each, in the order of the stages', () => {
    const { instantiate, remaining, stateful } = symbols
    expect(handlerSignatures([stateful, remaining, instantiate, stateful]).map(handlerText)).toEqual([
      'instantiate(attr bool)',
      'execute(state St, ret uint64[])',
      'execute(any other args, any other rets, attr int32)',
    ])
  })

  test('ignores other names', () => {
    expect(
      handlerSignatures(['rms_norm', '_ZN3xla3ffi5ErrorC1Ev', symbols.norm.slice(0, 200), '_ZN1aIfE1bEv']),
    ).toEqual([])
  })
})

describe('classOfMember()', () => {
  test('returns the class of a member', () => {
    expect(classOfMember('_ZN1a1bIfLi3EE1cEv')).toEqual({
      name: 'a::b',
      args: [
        { name: 'float', args: [] },
        { name: '3', args: [] },
      ],
    })
  })

  test.each([
    '',
    'f',
    '_Z1fv',
    '_ZN1a',
    '_ZN1aI',
    '_ZN1aIS9_E1bEv',
    '_ZN1aIqE1bEv',
    '_ZN1aILifE1bEv',
    '_ZN999a1bIfEE',
    `_ZN1aI${'P'.repeat(100)}fE1bEv`,
    `_ZN1aI${'J'.repeat(100_000)}`,
  ])('returns undefined for truncated and unknown names: %j', (name) => expect(classOfMember(name)).toBeUndefined())
})

test('types that refer to each other, and parameters without types, do not make the text long', () => {
  const nested = Array.from(
    { length: 500 },
    (_, index) => `N3xla3ffi7PointerIS${index === 0 ? '' : (index - 1).toString(36).toUpperCase()}_EE`,
  )
  const types = ['4Span', '7Pointer', ...nested].join('')
  const symbol = `_ZNK3xla3ffi7HandlerILNS0_14ExecutionStageE3EPFivEJ${types}EE4CallEP17XLA_FFI_CallFrame`
  for (const signature of handlerSignatures([symbol])) expect(handlerText(signature).length).toBeLessThan(100_000)
})
