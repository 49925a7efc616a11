/** Attempts to crash or hang the process through the public API, as bodies of functions: see hostile.crash.test.ts. */
export const attempts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  arguments: {
    'element getter closes an earlier element':
      "const a = K.echo([1,2]); const arr = [a, null]; Object.defineProperty(arr, 1, { get() { a.close(); gc(); return 'x'.repeat(100) } }); return K.echo(arr).toArray().length",
    'element getter closes the target':
      'const f = packedFunc((x) => x); const arr = [1]; Object.defineProperty(arr, 0, { get() { f.close(); gc(); return 1 } }); return f(arr)',
    'element getter closes earlier argument':
      'const a = K.echo([1,2]); const arr = [1]; Object.defineProperty(arr, 0, { get() { a.close(); gc(); return 1 } }); return K.references(a, arr)',
    'getter re-enters same function with many args':
      "const arr = [1]; let n = 0; Object.defineProperty(arr, 0, { get() { return n++ < 50 ? K.echo([arr]).size : 1 } }); return K.echo('x'.repeat(50), arr)",
    'getter re-enters deep':
      'const arr = [1]; Object.defineProperty(arr, 0, { get() { return K.echo(arr) } }); return K.echo(arr)',
    'cyclic array': 'const a = []; a.push(a); return K.echo(a)',
    'cyclic map': "const m = new Map(); m.set('m', m); return K.echo(m)",
    'proxy array':
      "return K.echo(new Proxy([1,2,3], { get(t, k) { if (k === 'length') return 2**32 - 1; return Reflect.get(t, k) } })).size",
    'proxy array shrinking length':
      "let n = 0; return K.echo(new Proxy([1,2,3], { get(t, k) { if (k === 'length') return n++ ? 5000 : 2; return Reflect.get(t, k) } })).size",
    'proxy array negative length':
      "return K.echo(new Proxy([], { get(t, k) { return k === 'length' ? -5 : undefined } })).size",
    'proxy array NaN length':
      "return K.echo(new Proxy([], { get(t, k) { return k === 'length' ? NaN : undefined } })).size",
    'proxy array fraction length':
      "return K.echo(new Proxy([], { get(t, k) { return k === 'length' ? 1.5 : undefined } })).size",
    'proxy array string length': "return K.echo(new Proxy([], { get(t, k) { return k === 'length' ? '7' : 1 } })).size",
    'proxy array object length':
      "return K.echo(new Proxy([], { get(t, k) { return k === 'length' ? { valueOf() { gc(); return 1030 } } : 1 } })).size",
    'array subclass with length getter':
      'class X extends Array { get [Symbol.species]() { return 5 } }; return K.echo(X.from([1,2])).size',
    'map subclass iterator':
      'class M extends Map { *[Symbol.iterator]() { yield [1]; yield [1,2,3] } } return K.echo(new M())',
    'map iterator endless yields':
      'class M extends Map { *[Symbol.iterator]() { for (let i = 0; i < 3000; i++) yield [i, i] } } return K.echo(new M()).size',
    'map iterator non pairs':
      'class M extends Map { *[Symbol.iterator]() { yield 5; yield 6 } } return K.echo(new M()).size',
    'map value getter clears the map':
      'const m = new Map([[1, 2]]); m.set([0], 1); const k = [...m.keys()][1]; Object.defineProperty(k, 0, { get() { m.clear(); return 5 } }); return K.echo(m).size',
    'proxy of PackedFunc': 'return K.call(new Proxy(K.sum, {}), 1, 2)',
    'proxy of NativeArray': 'return K.echo(new Proxy(K.echo([1]), {}))',
    'proxy of tensor': "return K.echo(new Proxy(tensor('float32', [2]), {}))",
    'proxy of tensor changing gate':
      "const x = tensor('float32', [2]), y = tensor('float32', [2]); return K.add_one(new Proxy(x, { get(t, k) { return Reflect.get(k === 'gate' ? y : t, k, t) } }), y)",
    'object with tensor prototype': 'return K.echo(Object.create(Tensor.prototype))',
    'object with tensor prototype and a tensor below': "return K.echo(Object.create(tensor('float32', [2])))",
    'object with PackedFunc prototype': 'return K.echo(Object.create(P.PackedFunc.prototype))',
    'object inheriting from a function': 'return K.call(Object.create(K.sum), 1)',
    'object inheriting a NativeArray': 'return K.echo(Object.create(K.echo([1,2]))).size',
    'object inheriting a closed NativeArray':
      'const a = K.echo([1,2]); const b = Object.create(a); a.close(); return K.echo(b)',
    'object inheriting, closing child':
      'const a = K.echo([1,2]); const b = Object.create(a); b.close(); gc(); a.close(); return 1',
    'object inheriting, closing child, using parent':
      'const a = K.echo([1,2]); const b = Object.create(a); b.close(); gc(); return a.size',
    'bound function closes': 'const f = packedFunc(() => 1); const b = f.bind(null); return b()',
    'Uint8Array detached':
      'const b = new Uint8Array(100); structuredClone(b.buffer, { transfer: [b.buffer] }); return K.echo(b).length',
    'Uint8Array on resizable':
      'const b = new ArrayBuffer(100, { maxByteLength: 1000 }); const u = new Uint8Array(b); b.resize(10); return K.echo(u).length',
    'Uint8Array subclass with length getter':
      'class U extends Uint8Array { get length() { return 1e6 } } return K.echo(new U(10)).length',
    'Uint8Array subclass with big length in container':
      'class U extends Uint8Array { get length() { return 60000 } } return K.echo([new U(10)]).size',
    'Uint8Array subclass short length':
      'class U extends Uint8Array { get length() { return 3 } } return K.echo(new U(100)).length',
    'Uint8Array subclass huge length':
      'class U extends Uint8Array { get length() { return 2**40 } } return K.echo(new U(100)).length',
    'Uint8Array subclass negative length':
      'class U extends Uint8Array { get length() { return -100 } } return K.echo(new U(100)).length',
    'Uint8Array subclass NaN length':
      'class U extends Uint8Array { get length() { return NaN } } return K.echo(new U(100)).length',
    'Uint8Array subclass 8-length of short':
      'class U extends Uint8Array { get length() { return 100000 } } const r = K.echo(new U(0)); return r.length',
    'Uint8Array proxied': 'return K.echo(new Proxy(new Uint8Array(4), {}))',
    'SharedArrayBuffer bytes': 'return K.echo(new Uint8Array(new SharedArrayBuffer(200))).length',
    'text with NULs': "return K.echo('a\\0'.repeat(5000)).length",
    'lone surrogates': "return K.echo('\\ud800'.repeat(30000)).length",
    'many args 4000': 'return K.sum(...Array(4000).fill(1))',
    'many args 5000': 'return K.sum(...Array(5000).fill(1))',
    'many args 100000': 'return K.sum(...Array(100000).fill(1))',
    'many args to callback': 'return packedFunc((...a) => a.length)(...Array(3000).fill(1))',
    'many args to callback twice':
      'const f = packedFunc((...a) => a.length); const g = packedFunc((...a) => f(...a)); return g(...Array(1900).fill(1))',
    'many text args': "return K.type_index(...Array(2000).fill('x'.repeat(60)))",
    'many rvalue args':
      'const a = Array.from({ length: 2000 }, () => K.echo([1])); return K.type_index(...a.map(rvalue))',
    'view when text nearly full':
      "const x = tensor('float32', [3]); const out = new Set(); for (let n = 65536 - 200; n < 65536 + 8; n++) { try { K.type_index(Buffer.alloc(n - 16), tensor('float32', [3])); out.add('ok') } catch (e) { out.add(e.constructor.name + e.message.slice(0, 50)) } } return [...out].join()",
    'tensor huge rank': "return K.echo(tensor('float32', Array(20000).fill(1))).type.shape.length",
    'tensor closed while used':
      'const x = K.make_range(10); const v = x.view(); x.segment.scope?.close?.(); return v.length',
    'tensor native: close lifetime then pass':
      'const x = K.make_range(10); x.segment.lifetime?.close?.(); return String(K.echo(x))',
    'tensor in callback closes its memory':
      "const x = K.make_range(10); return K.call(packedFunc((y) => { try { x.segment.lifetime.close() } catch (e) { return e.constructor.name } return 'closed' }), x)",
    'fromDLPack twice': "const p = toDLPack(tensor('float32', [3])); const a = fromDLPack(p); return String(a)",
    'fromDLPack null': 'return fromDLPack(new OpaquePointer(0n))',
    'toDLPack then gc': "for (let i = 0; i < 100; i++) fromDLPack(toDLPack(tensor('float32', [100]))); gc(); return 1",
    'OpaquePointer odd': "return K.echo(new OpaquePointer('x'))",
    'OpaquePointer number': 'return K.echo(new OpaquePointer(5))',
    'OpaquePointer huge': 'return String(K.echo(new OpaquePointer(2n ** 70n)))',
    'typed with hostile value':
      'return K.sum.typed([t.array(t.int)], t.any)(new Proxy([1], { get(x, k) { if (k === Symbol.iterator) return function* () { for (let i = 0; i < 3; i++) { gc(); yield i } }; return x[k] } }))',
    'typedFunc hostile arity': 'return typedFunc([accept.int], (x) => x)()',
    'legacy huge': "return legacyFunc((a, rv) => rv.set(a.length))(...Array(3000).fill('x'.repeat(20)))",
    'legacy rv hostile': 'return legacyFunc((a, rv) => rv.set({}))(1)',
    'prototype method on wrong this': 'return P.NativeArray.prototype.get.call({}, 1)',
    'getter on wrong this':
      "return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(P.NativeArray.prototype), 'size').get.call(K.sum)",
    'close on wrong this': 'return P.NativeObject.prototype.close.call({ handle: 0 })',
    'print closed things': 'return [String(K.echo), `${shape([1])}`].join()',
    'valueOf in bigint': 'return K.echo(Object(5n))',
    'Object(5)': 'return K.echo(Object(5))',
    'Symbol.toPrimitive': 'return K.echo({ [Symbol.toPrimitive]() { return 5 } })',
    date: 'return K.echo(new Date())',
    'device getters': 'return K.echo({ get type() { gc(); return 1 }, get id() { return 2 ** 40 } })',
    'device fraction': 'return String(K.echo({ type: 1, id: 0.5 }))',
  },
  'containers and destructors': {
    'rvalue when text full':
      "const a = K.echo([1]); let r; try { r = K.type_index('x'.repeat(60), ...Array(1100).fill('y'.repeat(60)), rvalue(a)) } catch (e) { r = e.message } return [r, a.isAlive]",
    'rvalue when text nearly full':
      'const out = []; for (let n = 65536 - 40; n < 65536 + 8; n++) { const a = K.echo([1]); try { K.type_index(Buffer.alloc(n - 16), rvalue(a)); out.push(a.isAlive) } catch (e) { out.push(e.constructor.name + a.isAlive) } } return out.join()',
    'dict mutated by destructor while set':
      "const d = G('Dict')(); const o = ending(() => { for (let i = 0; i < 100; i++) G('DictSetItem')(d, 'k' + i, 'v'.repeat(50)) }); G('DictSetItem')(d, 'k', o); o.close(); G('DictSetItem')(d, 'k', 1); return d.size",
    'dict erased by destructor while erasing':
      "const d = G('Dict')(); for (let i = 0; i < 50; i++) { const o = ending(() => G('DictClear')(d)); G('DictSetItem')(d, i, o); o.close() } G('DictErase')(d, 25); return d.size",
    'list mutated by destructor':
      "const l = G('List')(); for (let i = 0; i < 50; i++) { const o = ending(() => { G('ListAppend')(l, 'x'.repeat(50)); if (i % 2) G('ListClear')(l) }); G('ListAppend')(l, o); o.close() } G('ListErase')(l, 25); try { G('ListSetItem')(l, 3, 1) } catch {} G('ListClear')(l); return l.size",
    'list contains itself': "const l = G('List')(); G('ListAppend')(l, l); G('ListClear')(l); return l.size",
    'dict contains itself':
      "const d = G('Dict')(); G('DictSetItem')(d, 'd', d); d.toMap(); G('DictClear')(d); return d.size",
    'dict keyed by itself':
      "const d = G('Dict')(); G('DictSetItem')(d, d, d); const r = d.has(d); G('DictClear')(d); return r",
    'destructor throws':
      "const o = stubFunction(() => 0, () => { throw new Error('in destructor') }); process.once('uncaughtException', () => {}); o.close(); return 1",
    'destructor closes others': 'const b = K.echo([1]); const o = ending(() => b.close()); o.close(); return b.isAlive',
    'destructor closes itself again': 'let o = ending(() => { try { o.close() } catch {} }); o.close(); return 1',
    'destructor runs gc and calls':
      "for (let i = 0; i < 20; i++) { const o = ending(() => { gc(); K.echo([1, 2, 'x'.repeat(100)]) }); K.echo([o]); o.close() } return 1",
    'destructor within container argument':
      "const o = ending(() => K.echo('y'.repeat(200))); const r = K.echo([o, 'x'.repeat(200), [o]]); o.close(); const s = r.size; r.close(); return s",
    'iterator abandoned':
      "const d = G('Dict')('a', 1, 'b', 2); const it = d[Symbol.iterator](); it.next(); d.close(); gc(); return it.next().value",
    'iterator after close':
      "const d = G('Dict')('a', 1, 'b', 2); for (const [k] of d) { if (d.isAlive) d.close() } return 1",
    'array closed while iterated': 'const a = K.echo([1,2,3]); for (const x of a) a.close(); return 1',
    'array toArray with element closing': "const a = G('List')(ending(() => {}), 1); return a.toArray().length",
    'shape huge': 'return shape(Array(100000).fill(1)).toArray().length',
    'shape closed': 'const s = shape([1,2]); s.close(); return s.toArray()',
    'shape getter': 'const a = [1]; Object.defineProperty(a, 0, { get() { gc(); return 2n ** 70n } }); return shape(a)',
    'move_in twice': "return K.move_in(rvalue(K.echo([1])), 'again')",
    'move_in function that is running':
      "const f = packedFunc(() => { K.move_in(rvalue(f)).close(); gc(); return 'z'.repeat(60) }); return f()",
    'move_in container being iterated':
      "const d = G('Dict')('a', 1, 'b', 2); for (const x of d) { if (d.isAlive) K.move_in(rvalue(d)).close() } return 1",
    'rvalue of an object in the container': 'const a = K.echo([1]); return K.echo([a, rvalue(a)])',
    'rvalue used twice': 'const r = rvalue(K.echo([1])); return K.echo([r, r])',
  },
  'callbacks and errors': {
    'callback closes itself': "const f = packedFunc(() => { f.close(); gc(); return 'x'.repeat(100) }); return f()",
    'callback closes args': 'const f = packedFunc((a) => { a.close(); gc(); return a }); return f(K.echo([1]))',
    'callback keeps borrowed tensor':
      "let kept; const f = packedFunc((x) => { kept = x; return 0 }); f(tensorView(tensor('float32', [3], [1,2,3]))); return kept.toArray()",
    'callback keeps view of borrowed tensor':
      "let kept; const f = packedFunc((x) => { kept = x.view(); return 0 }); f(tensorView(tensor('float32', [3], [1,2,3]))); return kept.length",
    'callback returns borrowed tensor':
      "const f = packedFunc((x) => x); return String(f(tensorView(tensor('float32', [3], [1,2,3]))))",
    'callback returns slice of borrowed tensor':
      "const f = packedFunc((x) => [x]); return String(f(tensorView(tensor('float32', [3], [1,2,3]))))",
    'callback calls with borrowed tensor':
      "const f = packedFunc((x) => K.echo(x)); return String(f(tensorView(tensor('float32', [3], [1,2,3]))))",
    'callback keeps borrowed natively':
      "const f = packedFunc((x) => { K.keep(x); return 0 }); const r = f(tensorView(tensor('float32', [3], [1,2,3]))); K.keep(null); return r",
    'callback async with borrowed':
      "let p; const f = packedFunc((x) => { p = K.echo.async(x); p.catch(() => {}); return 0 }); f(tensorView(tensor('float32', [3]))); return p.then(String, (e) => e.message)",
    'return rvalue': 'return packedFunc(() => rvalue(K.echo([1])))()',
    'return nested rvalue': 'return packedFunc(() => [rvalue(K.echo([1]))])()',
    'return tensorView nested': "return packedFunc(() => [tensorView(tensor('float32', [1]))])()",
    'return closed object': 'return packedFunc(() => { const a = K.echo([1]); a.close(); return a })()',
    'return promise': "return packedFunc(() => Promise.reject(new Error('x')))()",
    'return thenable': 'return packedFunc(() => ({ then() {} }))()',
    'return getter that closes itself':
      'const f = packedFunc(() => { const a = [1]; Object.defineProperty(a, 0, { get() { f.close(); return 5 } }); return a }); return f().size',
    'throw undefined': 'return packedFunc(() => { throw undefined })()',
    'throw null in nested': 'return K.call(packedFunc(() => { throw null }))',
    'throw proxy':
      "return packedFunc(() => { throw new Proxy(new Error('x'), { get() { throw 1 }, getPrototypeOf() { throw 2 } }) })()",
    'throw revoked proxy':
      'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return packedFunc(() => { throw proxy })()',
    'throw error with message getter that calls':
      "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { return K.echo('from getter') } }); return packedFunc(() => { throw e })()",
    'throw error with huge message': "return packedFunc(() => { throw new Error('m'.repeat(1e6)) })()",
    'throw error cause cycle':
      "const a = new Error('a'), b = new Error('b', { cause: a }); a.cause = b; return packedFunc(() => { throw a })()",
    'throw error cause getter loops':
      "class E extends Error { get cause() { return new E('x') } } return packedFunc(() => { throw new E('y') })()",
    'throw function': 'return packedFunc(() => { throw K.sum })()',
    'throw symbol': "return packedFunc(() => { throw Symbol('s') })()",
    'throw a native error again':
      "let e; try { K.fail_as('KeyError') } catch (x) { e = x } for (let i = 0; i < 100; i++) try { K.call(() => { throw e }) } catch (y) { if (y !== e) return 'other' } return 'same'",
    'throw frozen error': "return packedFunc(() => { throw Object.freeze(new Error('f')) })()",
    'deep recursion': 'const f = packedFunc((n) => f(n + 1)); return f(0)',
    'deep recursion with containers': 'const f = packedFunc((n) => f([n])); return f(0)',
    'deep recursion JS then native':
      'const r = (n) => { try { return K.call(() => r(n + 1)) } catch (e) { return e.kind ?? e.message } }; return r(0)',
    'stack overflow in getter':
      'const arr = [1]; const over = () => over() + 1; Object.defineProperty(arr, 0, { get: over }); return K.echo(arr)',
    'native call at the end of the stack':
      "let r; const dive = () => { try { dive() } catch { r ??= K.echo([1, 'x'.repeat(100)]).size } }; dive(); return r",
    'native calls all along the end of the stack':
      "let n = 0; const dive = () => { try { dive() } finally { try { K.echo([1, 'x'.repeat(100), () => 1]); n++ } catch {} } }; try { dive() } catch {} return n > 0",
    'closing at the end of the stack':
      'const objs = Array.from({ length: 2000 }, () => K.echo([1])); const dive = () => { try { dive() } finally { try { objs.pop()?.close() } catch {} } }; try { dive() } catch {} return objs.length',
    'callbacks at the end of the stack':
      "const f = packedFunc((x) => [x]); let n = 0; const dive = () => { try { dive() } finally { try { K.call(f, 'x'.repeat(60)); n++ } catch {} } }; try { dive() } catch {} return n > 0",
    'function that is a class': 'return K.call(class X {})',
    'generator function': 'return String(K.call(function* () {}))',
    'callback changes its arguments object':
      'return packedFunc(function () { arguments[0] = 5; return arguments.length })(1, 2)',
  },
  'threads, the registry and modules': {
    'global removed while held':
      "registerGlobal('h.x', () => 1); const f = getGlobal('h.x'); removeGlobal('h.x'); gc(); return f()",
    'global overrides ffi.Array':
      "const old = getGlobal('ffi.Array'); registerGlobal('ffi.Array', (...a) => 5, { override: true }); try { return String(K.echo([1, 2])) } finally { registerGlobal('ffi.Array', old, { override: true }) }",
    'global override in its own call':
      "const f = registerGlobal('h.y', () => { registerGlobal('h.y', () => 2, { override: true }); gc(); return 'x'.repeat(50) }); f.close?.(); const r = getGlobal('h.y')(); removeGlobal('h.y'); return r",
    'global named __proto__':
      "registerGlobal('h.__proto__', () => 1); const api = initApi('h'); removeGlobal('h.__proto__'); return typeof api.__proto__",
    'registry deleter re-enters':
      "const o = ending(() => { removeGlobal('h.z'); registerGlobal('h.w', () => 1, { override: true }) }); registerGlobal('h.z', o); o.close(); removeGlobal('h.z'); return 1",
    'FunctionFromExternC garbage':
      "try { return G('FunctionFromExternC')(null, null, null) } catch (e) { return e.kind }",
    'ModuleImport self cycle': 'const m = Module.open(PACKED); m.import(m)',
    'ModuleClearImports while calling':
      "const a = Module.open(GREETING); a.import(lib); const s = a.get('sum'); G('ModuleClearImports')(a); a.close(); gc(); return s(1, 2)",
    'module closed then get': "const a = Module.open(PACKED); a.close(); return a.get('sum')",
    'parallel with callback': 'return K.sum_in_parallel(packedFunc((i) => i, { relay: true }), 4)',
    'parallel with throwing callback':
      "return K.sum_in_parallel(packedFunc((i) => { throw new Error('no') }, { relay: true }), 4)",
    'parallel with callback that launches':
      'return K.sum_in_parallel(packedFunc((i) => K.sum_in_parallel(packedFunc((j) => j, { relay: true }), 1), { relay: true }), 4)',
    'parallel 256': 'return K.sum_in_parallel(packedFunc((i) => i, { relay: true }), 256)',
    'parallel 10000': 'return K.sum_in_parallel(packedFunc((i) => i, { relay: true }), 10000)',
    'parallel negative': 'return K.sum_in_parallel(packedFunc((i) => i, { relay: true }), -1)',
    'parallel callback closes function':
      'const f = packedFunc((i) => { try { f.close() } catch {} return i }, { relay: true }); return K.sum_in_parallel(f, 4)',
    'async callback same thread': 'return K.call(packedFunc(async () => 1, { async: true }))',
    'async never settles':
      'K.call.async(packedFunc(() => new Promise(() => {}), { async: true })).catch(() => {}); return 1',
    'async thenable getter throws':
      "return K.call.async(packedFunc(() => ({ get then() { throw new Error('then') } }), { async: true })).catch((e) => e.message)",
    'async many': 'return (await Promise.all(Array.from({ length: 500 }, (_, i) => K.sum.async(i, 1)))).length',
    'async args mutated after':
      'const b = Buffer.alloc(1000, 1); const p = K.echo.async(b); b.fill(2); return p.then((x) => x[500])',
    'async object closed after':
      'const a = K.echo([1,2]); const p = K.echo.async(a); a.close(); gc(); return p.then((x) => x.size)',
    'async target closed after': "const f = lib.get('sum'); const p = f.async(1, 2); f.close(); gc(); return p",
    'async tensor closed after':
      'const x = K.make_range(1000); const p = K.echo.async(x); try { x.segment.lifetime.close() } catch (e) { return p.then(() => e.constructor.name) } return p.then(String)',
    'async abort storms':
      'const c = new AbortController(); const ps = Array.from({ length: 50 }, () => K.wait_for_signal.with({ signal: c.signal }).async(1000).catch((e) => 1)); setTimeout(() => c.abort(), 20); return (await Promise.all(ps)).length',
    'async rvalue': 'return K.echo.async(rvalue(K.echo([1]))).then(String, (e) => e.message)',
    'async in callback': 'return K.call(packedFunc(() => { K.sum.async(1, 2); return 1 }))',
    'keep and drop elsewhere': 'K.keep(packedFunc(() => 1)); gc(); K.drop_on_thread(); return 1',
    'keep tensor and drop elsewhere': "K.keep(tensor('float32', [1000])); gc(); K.drop_on_thread(); gc(); return 1",
    'keep error of JS':
      "K.keep(new RangeError('x')); gc(); const r = K.kept() instanceof RangeError; K.keep(null); return r",
    'kept many times': 'K.keep(K.echo([1])); for (let i = 0; i < 1000; i++) K.kept().close(); K.keep(null); return 1',
    'exit listeners call': "process.on('exit', () => { try { K.echo([1]); K.call(() => 1) } catch {} }); return 1",
  },
}

/** How a process ends while functions run, and its exit code. */
export const ends: readonly (readonly [body: string, code: number])[] = [
  ['K.call(() => K.call(() => process.exit(7)))', 7],
  ['const a = [1]; Object.defineProperty(a, 0, { get() { process.exit(7) } }); K.echo(K.echo([1]), a)', 7],
  ['ending(() => process.exit(7)).close()', 7],
  [
    "const d = G('Dict')(); for (let i = 0; i < 9; i++) G('DictSetItem')(d, i, ending(() => process.exit(7))); gc(); G('DictClear')(d); await tick(10); gc(); await tick(10); process.exit(7)",
    7,
  ],
  ['K.sum_in_parallel(packedFunc(() => process.exit(7), { relay: true }), 4)', 7],
  ['K.call.async(packedFunc(async () => process.exit(7), { async: true })); await tick(5000)', 7],
  ['K.call.async(packedFunc(() => process.exit(7), { relay: true })); await tick(5000)', 7],
  [
    'for (let i = 0; i < 20; i++) K.wait_for_signal.async(300).catch(() => {}); setTimeout(() => process.exit(7), 20)',
    7,
  ],
  [
    'K.call.async(packedFunc(() => new Promise(() => {}), { async: true })).catch(() => {}); setTimeout(() => process.exit(7), 20)',
    7,
  ],
  [
    "process.on('exit', () => { K.echo([1]); K.sum.async(1).catch(() => {}); try { K.call(() => 1) } catch {} }); K.keep(() => 1)",
    0,
  ],
  ["ending(() => { throw new Error('own') }).close(); await tick(10)", 1],
]

/** What a worker does without end when it is terminated. */
export const endless: readonly string[] = [
  'for (;;) K.sum_in_parallel(packedFunc((i) => i, { relay: true }), 4)',
  'for (;;) { K.keep(packedFunc(() => 1)); K.drop_on_thread() }',
  'const f = packedFunc((x) => x, { relay: true }); for (let i = 0; i < 8; i++) (async () => { for (;;) await K.call.async(f, 1) })()',
  "for (;;) { const d = G('Dict')('a', ending(() => K.echo([1]))); G('DictClear')(d); d.close() }",
  'let depth = 0; const f = packedFunc(() => (depth++ < 100 ? f() : (depth = 0))); for (;;) f()',
  'for (;;) K.throw_in_task.tryCall(1)',
]
