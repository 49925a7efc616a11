import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatSignature } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Library } from '../src/index.ts'
import type { FoundSignature } from '../src/signatures/read-signatures.ts'
import { compileLibrary, signaturesOf as read, summary, writeSidecar } from './signature-library.ts'

const linux = process.platform === 'linux'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-signatures-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const compile = (source: string): string => compileLibrary(directory, source)

describe('TN_SIGNATURE() beside a function', () => {
  test('describes a typed handler without another mark, and a function of a marked or packed convention', () => {
    const path = compile(`
      int typed(void *f) { return f != 0; }
      TN_SIGNATURE(typed, "(x: f32[n]) -> (y: f32[n])");
      void host(void *o, const void **i) { (void)o; (void)i; }
      TN_XLA_MARK_HOST(host);
      TN_SIGNATURE(host, "(x: f32[n]) -> (y: f32[n]) -- A host function.");
      void status(void *o, const void **i, void *s) { (void)o; (void)i; (void)s; }
      TN_XLA_MARK_HOST_STATUS(status);
      TN_SIGNATURE(status, "() -> (y: f32)");
      int __tvm_ffi_add(void *self) { return self != 0; }
      TN_SIGNATURE(add, "(a: f32[n], b: f32[n]) -> (c: f32[n])");
      int __tvm_ffi_div(void *self) { return self != 0; }
      TN_SIGNATURE(__tvm_ffi_div, "(a: f32[n]) -> (b: f32[n]) -- Signed by its symbol.");
      int __tvm_ffi_both(void *self) { return self != 0; }
      TN_SIGNATURE(__tvm_ffi_both, "() -> () -- By the symbol.");
      TN_SIGNATURE(both, "() -> () -- By the name.");
      void marked(void *o, const void **i, const char *q, unsigned long l, void *s);
      void marked(void *o, const void **i, const char *q, unsigned long l, void *s) { (void)o; (void)i; (void)q; (void)l; (void)s; }
      TN_XLA_MARK_HOST_UNIFIED(marked);
      int plain(void) { return 0; }
      TN_SIGNATURE(elsewhere, "() -> ()");
    `)
    const found = read(path)
    expect(summary(found)).toEqual([
      'add | packed | library | (a: f32[n], b: f32[n]) -> (c: f32[n])',
      'both | packed | library | () -> () -- By the name.',
      'div | packed | library | (a: f32[n]) -> (b: f32[n]) -- Signed by its symbol.',
      'elsewhere | typed | library | () -> ()',
      'host | host | library | (x: f32[n]) -> (y: f32[n]) -- A host function.',
      'marked | host-unified | none | () -> ()',
      'status | host-status | library | () -> (y: f32)',
      'typed | typed | library | (x: f32[n]) -> (y: f32[n])',
    ])
    expect(found.map(({ symbol }) => symbol)).toEqual([
      '__tvm_ffi_add',
      '__tvm_ffi_both',
      '__tvm_ffi_div',
      undefined,
      'host',
      'marked',
      'status',
      'typed',
    ])
    expect(found.find(({ signature }) => signature.name === 'marked')!.signature.isComplete).toBe(false)
  })

  test('of the example kernels is read without loading them', () => {
    const path = kernelLibrary('kernels')
    const softmax = read(path).find(({ signature }) => signature.name === 'softmax')!
    expect(softmax).toMatchObject({ symbol: 'softmax', differing: [], unreadable: [], platform: undefined })
    expect(softmax.signature).toMatchObject({ convention: 'typed', source: 'library', isComplete: true })
  })

  test('a handler that another kernel names as that of a stage is not a kernel', () => {
    const path = compile(`
      int run(void *f) { return f != 0; }
      int make(void *f) { return f != 0; }
      TN_XLA_MARK_TYPED(make);
      TN_SIGNATURE(run, "() -> (y: f32); stages (instantiate: make)");
    `)
    expect(summary(read(path))).toEqual(['run | typed | library | () -> (y: f32); stages (instantiate: make)'])
  })
})

test('a text that cannot be read counts as none, with the reason', () => {
  const path = compile(`
    int wrong(void *f) { return f != 0; }
    TN_SIGNATURE(wrong, "(x: f33[n]) -> ()");
    int code__tn_signature(void) { return 0; }
    char zero__tn_signature[100];
  `)
  const found = read(path)
  expect(summary(found)).toEqual([
    'code | typed | none | () -> ()',
    'wrong | typed | none | () -> ()',
    'zero | typed | none | () -> ()',
  ])
  const [code, wrong, zero] = found.map(({ unreadable }) => unreadable)
  expect(code).toEqual([{ source: 'library', reason: 'code__tn_signature must be a constant, got a function' }])
  expect(wrong![0]!.reason).toMatch(/^column 5: /)
  expect(zero![0]!.reason).toContain("outside of the file's segments")
})

describe('the order of the sources', () => {
  const source = `
    int f(void *f) { return f != 0; }
    TN_SIGNATURE(f, "(x: f32[n]) -> (y: f32[n]) -- From the library.");
    int g(void *f) { return f != 0; }
    TN_SIGNATURE(g, "(x: f32[n]");
    int __tvm_ffi_h(void *self) { return self != 0; }
  `

  test('the library counts before the sidecar, and inspect learns of the difference', () => {
    const path = compile(source)
    writeSidecar(path, { tenon: 1, kernels: { f: '(x: f32[n]) -> (z: f32[n])', g: '(x: f64[n]) -> (y: f64[n])' } })
    const [f, g] = read(path)
    expect(summary([f!, g!])).toEqual([
      'f | typed | library | (x: f32[n]) -> (y: f32[n]) -- From the library.',
      'g | typed | sidecar | (x: f64[n]) -> (y: f64[n])',
    ])
    expect(f!.differing.map(formatSignature)).toEqual(['(x: f32[n]) -> (z: f32[n])'])
    expect(f!.differing[0]!.source).toBe('sidecar')
    expect(g!.unreadable).toHaveLength(1)
  })

  test('texts that differ only in the documentation or in spaces do not differ', () => {
    const path = compile(source)
    writeSidecar(path, { tenon: 1, kernels: { f: '(x:float32[n])->(y:float32[n])' } })
    expect(read(path)[0]!.differing).toEqual([])
  })

  test('the sidecar counts before the metadata of tvm-ffi, which differs if the number of parameters does', () => {
    const path = compile(source)
    const metadata = (...types: string[]): string =>
      JSON.stringify({ type_schema: { type: 'ffi.Function', args: ['None', ...types].map((type) => ({ type })) } })
    const of = (json: string): FoundSignature => read(path, (name) => (name === 'h' ? json : undefined))[2]!
    expect(summary([of(metadata('ffi.Tensor', 'int'))])).toEqual([
      'h | packed | tvm-ffi | (a0: any[...]) -> (); a1: s64; packed (a0, a1)',
    ])
    writeSidecar(path, { tenon: 1, kernels: { h: '(x: f32[n]) -> (y: f32[n])' } })
    expect(of(metadata('ffi.Tensor', 'ffi.Tensor'))).toMatchObject({ signature: { source: 'sidecar' }, differing: [] })
    expect(of(metadata('ffi.Tensor')).differing).toHaveLength(1)
  })
})

describe('the metadata of tvm-ffi', () => {
  const source = 'int __tvm_ffi_f(void *self) { return self != 0; }'
  const schema = (...args: unknown[]): unknown => ({ type: 'ffi.Function', args })
  const of = (typeSchema: unknown): FoundSignature =>
    read(compile(source), () => JSON.stringify({ type_schema: typeSchema }))[0]!
  const none = { type: 'None' }

  test('becomes parameters in the order of the function', () => {
    const types = ['ffi.Tensor', 'float', 'DLTensor*', 'int', 'bool', 'ffi.String', 'void*', 'DataType', 'ffi.Bytes']
    const { signature } = of(schema(none, ...types.map((type) => ({ type }))))
    expect(formatSignature(signature)).toBe(
      '(a0: any[...], a2: any[...]) -> (); a1: f64, a3: s64, a4: pred, a5: string, a6: pointer, a7: dtype, a8: bytes; ' +
        'packed (a0, a1, a2, a3, a4, a5, a6, a7, a8)',
    )
    expect(signature).toMatchObject({ convention: 'packed', source: 'tvm-ffi', isComplete: false })
  })

  test('may be text inside text, with optional parameters, or without parameters', () => {
    const optional = { type: 'Optional', args: [{ type: 'int' }] }
    expect(formatSignature(of(JSON.stringify(schema(none, optional))).signature)).toBe(
      '() -> (); a0?: s64; packed (a0)',
    )
    expect(of(schema(none)).signature).toMatchObject({ source: 'tvm-ffi', isComplete: false })
  })

  test.each([
    ['a function', schema(none, { type: 'ffi.Function' }), 'a0 has the type ffi.Function'],
    ['a method of objects', schema(none, { type: 'constructor' }), 'a0 has the type constructor'],
    ['no type', {}, 'type_schema must have a type'],
    ['no schema', undefined, 'type_schema must have a type'],
    ['another type', { type: 'int' }, 'type_schema must be ffi.Function'],
    ['text that is not JSON', '{', 'the metadata must be JSON'],
    [
      'too many parameters',
      schema(none, ...Array.from({ length: 257 }, () => none)),
      'at most 256 parameters, got 257',
    ],
  ])('%s counts as none, with the reason', (_name, typeSchema, reason) => {
    const { signature, unreadable } = of(typeSchema)
    expect(signature).toMatchObject({ convention: 'packed', source: 'none' })
    expect(unreadable).toEqual([{ source: 'tvm-ffi', reason: expect.stringContaining(reason) as string }])
  })

  test('is not asked for custom calls, and not JSON counts as none', () => {
    const path = compile('int f(void *f) { return f != 0; }\nTN_XLA_MARK_TYPED(f);')
    expect(summary(read(path, () => '{'))).toEqual(['f | typed | none | () -> ()'])
  })

  test('functions of TVM to 0.20 have the convention legacy', () => {
    const path = compile('void *__tvm_module_ctx;\nint add(void *a) { return a != 0; }')
    expect(summary(read(path))).toEqual(['add | legacy | none | () -> ()'])
    const described = compile(`
      void *__tvm_module_ctx;
      int add(void *a) { return a != 0; }
      TN_SIGNATURE(add, "(a: f32[n]) -> (b: f32[n])");
      int typed(void *a) { return a != 0; }
      TN_XLA_MARK_TYPED(typed);
    `)
    expect(summary(read(described))).toEqual([
      'add | legacy | library | (a: f32[n]) -> (b: f32[n])',
      'typed | typed | none | () -> ()',
    ])
    using library = Library.open(described)
    expect(() => library.customCall('add')).toThrow('add must be called as a legacy kernel, got typed')
  })
})

if (linux)
  describe("the template symbols of XLA's C++ header", () => {
    /** The names and the shape of the templates in xla/ffi/api/ffi.h; the bodies do not matter. */
    const header = `
      struct XLA_FFI_CallFrame;
      namespace xla { namespace ffi {
      enum class ExecutionStage { kInstantiate = 0, kExecute = 3 };
      enum class DataType { F32 = 11 };
      template <DataType type, unsigned long rank> struct Buffer {};
      struct AnyBuffer {};
      namespace internal {
      template <typename T> struct ArgTag {};
      template <typename T> struct RetTag {};
      template <typename T> struct AttrTag {};
      template <typename T> struct CtxTag {};
      struct RemainingArgsTag {};
      }
      template <ExecutionStage stage, typename Fn, typename... Ts> struct Handler {
        __attribute__((noinline)) void *Call(XLA_FFI_CallFrame *frame) const { return frame == nullptr ? nullptr : const_cast<Handler *>(this); }
      };
      using namespace internal;
      template <typename... Ts> void *run(XLA_FFI_CallFrame *frame) {
        static const Handler<ExecutionStage::kExecute, int (*)(), Ts...> handler;
        return handler.Call(frame);
      }
      } }
      using namespace xla::ffi;
      using F32 = Buffer<DataType::F32, 2>;
    `
    const compileCpp = (source: string): string => compileLibrary(directory, header + source, 'libcpp.so', 'cc')
    const norm =
      'extern "C" void *Norm(XLA_FFI_CallFrame *f) { return run<ArgTag<F32>, ArgTag<AnyBuffer>, RetTag<F32>>(f); }'

    test('are used for the only function of a library with one execute handler', () => {
      const found = read(compileCpp(norm))
      expect(summary(found)).toEqual(['Norm | typed | templates | (a0: f32[?, ?], a1: any[...]) -> (r0: f32[?, ?])'])
      expect(found[0]!.signature.isComplete).toBe(false)
    })

    test.each([
      ['another function', `${norm}\nextern "C" int other() { return 1; }`],
      [
        'another handler',
        `${norm}\nstatic void *g(XLA_FFI_CallFrame *f) { return run<ArgTag<F32>>(f); }\nvoid *keep = (void *)g;`,
      ],
      [
        'an attribute, whose name is unknown',
        'extern "C" void *Norm(XLA_FFI_CallFrame *f) { return run<AttrTag<float>>(f); }',
      ],
    ])('are not used in a library with %s', (_name, source) => expect(read(compileCpp(source))).toEqual([]))

    test('differ from a signature with another number of operands, another element type or another rank', () => {
      const differing = (text: string): number =>
        read(compileCpp(`${norm}\nTN_SIGNATURE(Norm, "${text}");`))[0]!.differing.length
      expect(differing('(x: f32[n, m], y: any[...]) -> (z: f32[n, m])')).toBe(0)
      expect(differing('(x: f32[..., m], y: f64[n]) -> (z: f32[..., m])')).toBe(0)
      expect(differing('(x: f32[n, m]) -> (z: f32[n, m])')).toBe(1)
      expect(differing('(x: f64[n, m], y: any[...]) -> (z: f32[n, m])')).toBe(1)
      expect(differing('(x: f32[n], y: any[...]) -> (z: f32[n, n])')).toBe(1)
    })
  })
