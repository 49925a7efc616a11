import type { Attempts } from '../../attacks/attempt.ts'

/** Attempts with a module in its own process. */
export const inProcess: Attempts = {
  'typed array with own byteLength': [
    `const v = Object.defineProperty(Int32Array.of(1,2), 'byteLength', {value: 1<<30}); attempt(() => b.sum(v)); attempt(() => b.read_into(v, 7))`,
    'gave 3, gave 8',
  ],
  'typed array with changing byteLength getter': [
    `let n=0; const v = Object.defineProperty(Int32Array.of(1,2), 'byteLength', {get(){ return n++ ? 8 : 1<<28}}); attempt(() => b.sum(v)); await attemptLater(() => b.sum.async(v))`,
    'gave 3, TENON_ARGUMENT',
  ],
  'array subclass with length': [
    `class A extends Int32Array { get byteLength(){return 1<<30} get length(){return 1<<28} get byteOffset(){return 1<<28} get buffer(){return new ArrayBuffer(1)} }; attempt(() => b.sum(new A(2))); await attemptLater(() => b.sum.async(new A(2))); attempt(()=>b.text_size(new A(2)))`,
    'gave 0, TENON_ARGUMENT, gave 0',
  ],
  'allocator shrinks the array': [
    `const buf = new ArrayBuffer(1<<24, {maxByteLength: 1<<24}); const v = new Float64Array(buf); attempt(() => b.extent_read({allocate(s,a){ buf.resize(0); return MemorySegment.allocateNative(s,a)}}, v)); const buf2 = new ArrayBuffer(1<<24, {maxByteLength: 1<<24}); const v2 = new Float64Array(buf2); attempt(() => b.extent_of({allocate(s,a){ buf2.resize(0); return MemorySegment.allocateNative(s,a)}}, v2));`,
    'TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'allocator detaches the array': [
    `const v = new Float64Array(1<<21); attempt(() => b.extent_read({allocate(s,a){ structuredClone(v.buffer,{transfer:[v.buffer]}); gc(); return MemorySegment.allocateNative(s,a)}}, v)); const v2 = new Float64Array(1<<21); attempt(() => b.extent_of({allocate(s,a){ structuredClone(v2.buffer,{transfer:[v2.buffer]}); gc();return MemorySegment.allocateNative(s,a)}}, v2))`,
    'TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'allocator closes the segment': [
    `for (const f of ['extent_read','extent_of']) { const s = NativeScope.ofConfined(); const m = s.allocate(1<<22, 8); attempt(() => b[f]({allocate(z,a){ s.close(); return MemorySegment.allocateNative(z,a)}}, m)) }`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'allocator gives wrong memory': [
    `const v = new Float64Array(2); for (const mk of [(s)=>MemorySegment.allocateNative(1), ()=>MemorySegment.NULL, ()=>MemorySegment.ofAddress(8n), ()=>null, ()=>({}), (s)=>MemorySegment.ofBuffer(new Uint8Array(s+1)).asSlice(1), (s)=>{const c=NativeScope.ofConfined();const m=c.allocate(s);c.close();return m}]) for (const f of ['extent_read','extent_of']) attempt(() => b[f]({allocate: mk}, v).low)`,
    'TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_ALLOCATION, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'shared and detached arrays': [
    `const d = new Int32Array(4); structuredClone(d.buffer,{transfer:[d.buffer]}); attempt(()=>b.sum(d)); await attemptLater(()=>b.sum.async(d)); attempt(()=>b.sum(new Int32Array(new SharedArrayBuffer(16)))); await attemptLater(()=>b.sum.async(new Int32Array(new SharedArrayBuffer(16)))); const w = new Int32Array(new WebAssembly.Memory({initial:1,maximum:4}).buffer); attempt(()=>b.sum(w))`,
    'TENON_ARGUMENT, TENON_ARGUMENT, gave 0, TENON_ARGUMENT, gave 0',
  ],
  'async call whose segment closes': [
    `const s = NativeScope.ofConfined(); const m = s.allocate(1<<22,8); const p = attemptLater(() => b.sum_slow.async(m, 100)); attempt(()=>s.close()); await p; attempt(()=>s.close())`,
    'TENON_SCOPE_HELD, gave 0, gave undefined',
  ],
  'closed handle everywhere': [
    `const s = b.store_open('p'); const c = b.cursor_open(s,'q'); const t = b.store_open('p'); s.close();
for (const f of [()=>b.store_add(s,1),()=>b.cursor_next(c),()=>b.store_close(s),()=>b.store_destroy(s),()=>b.cursor_open(s,'x'),()=>b.total([s]),()=>b.total([t,s]),()=>b.store_message(s),()=>b.store_each(s,()=>1),()=>b.text_free(s),()=>b.needs_pointer(s),()=>b.keep_text(s),()=>textOf(s),()=>s.reinterpret(8).getInt32(0),()=>s.asSlice(0),()=>b.format(new Uint8Array(9),9n,'%p',s),()=>{b.attack_store.value=s},()=>b.attack_store.value,()=>b.sum(s),()=>b.read_into(s,1),()=>b.store_copy(s),()=>b.api.at(s),()=>b.api.of(s).version,()=>b.cursor_fail(c), ()=>b.open_slow(s,1), ()=>b.fill_some(s), ()=>b.find_second(s), ()=>b.text_length(s), ()=>b.store_open(s)]) attempt(f)
await attemptLater(()=>b.cursor_next.async(c)); await attemptLater(()=>b.open_slow.async(s,1)); await attemptLater(()=>b.text_size.async(s));`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave MemorySegment, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave MemorySegment, TENON_ARGUMENT, TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_BOUNDS, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'callback closes every handle': [
    `const s = b.store_open('p'); b.store_add(s,1); const c = b.cursor_open(s,'q'); attempt(()=>b.store_each(s,()=>{ attempt(()=>s.close()); attempt(()=>b.store_close(s)); attempt(()=>b.store_destroy(s)); attempt(()=>c.close()); return 1})); attempt(()=>b.cursor_next(c)); attempt(()=>s.close())`,
    'TENON_SCOPE_HELD, TENON_SCOPE_HELD, TENON_SCOPE_HELD, gave undefined, gave 1, TENON_SCOPE_CLOSED, gave undefined',
  ],
  'texts survive re-entrancy': [
    `let depth=0; const f=()=>{ if(depth++<50) return b.texts_size('a'.repeat(900),'b'.repeat(100+depth), f)>0?0:1; return 0 }; attempt(()=>b.texts_size('x'.repeat(100),'y'.repeat(7),f)); attempt(()=>b.texts_size('x'.repeat(100),'y'.repeat(7),()=>{throw 1})); attempt(()=>b.texts_size('x'.repeat(20000),'y'.repeat(20000),f))`,
    'gave 100007, threw number, gave 20020000',
  ],
  'call callbacks outlive': [
    `b.store_keep(()=>5); attempt(()=>b.store_call_kept(1)); const s=b.store_open('p'); b.store_add(s,1); attempt(()=>b.store_each(s,()=>{ return b.store_call_kept(2) + 100 })); for(let i=0;i<300;i++) b.store_each(s,()=>7); attempt(()=>b.store_call_kept(1)); gc(); attempt(()=>b.store_call_kept(1))`,
    'gave 0, gave 100, gave 0, gave 0',
  ],
  'callback from another thread': [
    `let n=0; attempt(()=>b.call_on_thread(()=>{n++;return 3},1)); attempt(()=>b.call_later(()=>{n++;return 4},5)); await sleep(50); console.log(n)`,
    'gave 0, gave 0, 1',
  ],
  'async callback from another thread': [`await attemptLater(()=>b.call_on_thread.async(()=>3,1))`, 'gave 3'],
  'callback outlives library': [
    `attempt(()=>b.call_later(()=>{console.log('called')},30)); b.library.close(); await sleep(80); attempt(()=>b.store_live())`,
    'gave 0, TENON_SCOPE_CLOSED',
  ],
  'library closes while used': [
    `const s=b.store_open('p'); b.store_add(s,1); attempt(()=>b.store_each(s,()=>{attempt(()=>b.library.close());return 2})); const p=attemptLater(()=>b.slow.async(50)); attempt(()=>b.library.close()); await p; attempt(()=>b.library.close()); attempt(()=>s.close()); attempt(()=>b.store_add(s,1)); attempt(()=>b.attack_count.value); attempt(()=>b.attack_count.value=3); attempt(()=>b.api.of(b.get_api())); attempt(()=>b.library.link('store_live',{result:'int32'})); attempt(()=>b.library.has('store_live'))`,
    'TENON_SCOPE_HELD, gave 2, TENON_SCOPE_HELD, gave 50, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'async after library close': [
    `b.slow(0); const q = b.sum_slow.async(new Int32Array(2),50); attempt(()=>b.library.close()); await attemptLater(()=>q); attempt(()=>b.library.close()); await attemptLater(()=>b.slow.async(1)); await attemptLater(()=>b.divide.async(1,2))`,
    'gave undefined, TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'cursor opened async within a closed store': [
    `for (let i=0;i<20;i++){ const s=b.store_open('p'); const ps=[1,2,3,4,5,6].map(()=>b.open_slow.async(s,2)); ps[0].then(()=>{ try { s.close() } catch {} }); const r=await Promise.allSettled(ps); if(i===0) console.log(r.map(x=>x.reason?.code??'ok').join()); s[Symbol.dispose]() } console.log(b.store_early())`,
    'ok,ok,ok,ok,ok,ok, 0',
  ],
  'finalize after library close': [
    `for(let i=0;i<50;i++) b.store_copy(b.store_default(true)); b.library.close(); await collect(); console.log('survived')`,
    'survived',
  ],
  'finalize forgotten': [
    `const before=b.store_live(); for(let i=0;i<500;i++){ const s=b.store_default(true); b.store_copy(s); s.close() } await collect(); console.log(b.store_live()-before<500)`,
    'true',
  ],
  'finalize used by argument': [
    `const s=b.store_default(true); for(let i=0;i<200;i++) b.store_each(b.store_copy(s),()=>{gc();return 1}); attempt(()=>b.store_add(b.store_copy(s),1)); await collect()`,
    'gave 0',
  ],
  'table freed early': [
    `const sc=NativeScope.ofConfined(); const a=b.api.allocate(sc); b.api.assign(a,{twice:(x)=>x*2}); attempt(()=>a.twice(4)); attempt(()=>b.call_twice(a,5)); sc.close(); attempt(()=>a.twice(4)); attempt(()=>b.call_twice(a,5)); attempt(()=>a.missing(1)); attempt(()=>b.api.assign(a,{twice:null}))`,
    'gave 8, gave 10, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'table in odd memory': [
    `const a=b.api.at(MemorySegment.ofBuffer(new Uint8Array(b.api.byteSize))); attempt(()=>b.api.assign(a,{twice:()=>1})); attempt(()=>a.twice(1)); attempt(()=>b.api.assign({},{twice:()=>1})); attempt(()=>b.api.assign(a,{__proto__:{twice(){}} ,constructor(){}})); attempt(()=>b.api.assign(a,{get twice(){throw new SyntaxError('x')}})); attempt(()=>b.api.prototype.put.call({},1)); attempt(()=>Object.create(b.api.prototype).put(1,2)); attempt(()=>new b.api().version); attempt(()=>new b.api(5).version); attempt(()=>new b.api(MemorySegment.NULL).version); attempt(()=>b.api.of(MemorySegment.NULL).version)`,
    'TENON_ARGUMENT, TENON_LOAD, TypeError, TENON_ARGUMENT, SyntaxError, TypeError, TypeError, TypeError, TypeError, TENON_BOUNDS, TENON_ARGUMENT',
  ],
  'struct whose scope closed': [
    `const sc=NativeScope.ofConfined(); const e=b.extent.allocate(sc); const f=b.flags.allocate(sc); sc.close(); for(const g of [()=>e.low,()=>e.low=1,()=>f.name,()=>f.name='x',()=>b.flags_sum(f),()=>b.flags_read(f),()=>b.flags.at(f.segment),()=>b.extent.array(e.segment),()=>f.text,()=>b.format(new Uint8Array(4),4n,'%p',f)]) attempt(g)`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave flags, gave Array, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'structs of wrong size': [
    `const small=MemorySegment.ofBuffer(new Uint8Array(64)).asSlice(0,4); for(const g of [()=>b.flags_sum(small),()=>b.flags_read(small),()=>b.flags.at(small),()=>b.flags.at(small,-1),()=>b.flags.at(small,2**53),()=>b.flags_sum(b.extent.allocate(NativeScope.ofConfined())),()=>b.flags_sum(null),()=>b.flags_sum({}),()=>b.flags_sum(MemorySegment.NULL),()=>b.flags_sum(MemorySegment.ofAddress(8n)),()=>b.extent.array(MemorySegment.ofBuffer(new Uint8Array(20))),()=>b.flags_sum(new b.flags({})),()=>b.flags_sum(new b.flags(small)), ()=>b.flags_sum(Object.create(b.flags.prototype))]) attempt(g)`,
    'TENON_ARGUMENT, gave 0, TENON_BOUNDS, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_BOUNDS, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'enum and bool out of range': [
    `for(const v of [99,-1,2**31,2**32,NaN,1.5,'1',true,null,1n]) attempt(()=>b.store_explain(v)); for(const v of [2,1,0,'true',null,undefined,{}]) attempt(()=>b.text_bytes(v)); attempt(()=>b.bool_of(2)); attempt(()=>b.bool_of(255)); attempt(()=>b.bool_of(0)); const f=b.flags_make(NativeScope.ofConfined(),3); attempt(()=>f.on); attempt(()=>f.name); attempt(()=>f.text); attempt(()=>f.name='x'.repeat(8)); attempt(()=>f.name='\\0'); attempt(()=>f.on=2); attempt(()=>f.value=2**31)`,
    'gave unknown, gave unknown, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave unknown, gave grün, gave grün, gave null, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave true, gave true, gave false, gave true, gave xxxxxxxx, gave MemorySegment, TENON_BOUNDS, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  texts: [
    `for(const t of ['\\ud800','a\\0b','x'.repeat(1<<20),'\\udfff'.repeat(30000),{toString(){return 'abc'}},new String('x'),Symbol('x'),5,()=>1,['a'],new Proxy({},{get(){throw 1}}),'']) attempt(()=>b.text_size(t)); for(const t of ['\\ud800','a\\0b','x'.repeat(1<<20),{toString(){return 'abc'}}]) await attemptLater(()=>b.text_copy.async(t)); attempt(()=>b.text_length('\\ud800\\udc00\\ud800')); attempt(()=>b.cursor_open(b.store_open('x'),'\\ud800')); attempt(()=>b.skip_first('')); attempt(()=>b.text_copy('\\ud800'))`,
    'gave 3, TENON_ARGUMENT, gave 1048576, gave 90000, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave 0, gave �, TENON_ARGUMENT, TENON_NATIVE, TENON_ARGUMENT, gave 7, gave Cursor, gave , gave �',
  ],
  'lone surrogates and lengths': [
    `const s=b.store_open('x'); for(const t of ['\\ud800','\\ud800a','a\\udc00','é\\ud83d']) attempt(()=>b.cursor_open(s,t)===undefined)`,
    'gave false, gave false, gave false, gave false',
  ],
  'hostile lengths': [
    `for(const n of [-1,-1n,NaN,Infinity,1.5,2**31,2**40,2**53,2n**63n,2n**64n,'5',[],{},null,undefined,new Number(3),{valueOf(){return 2}},new Int32Array(3),true]) attempt(()=>b.squares(n))`,
    'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'texts getter closes and shrinks others': [
    `const buf=new ArrayBuffer(1<<20,{maxByteLength:1<<20}); attempt(()=>b.join(Object.defineProperty(['a'],0,{get(){buf.resize(0);return 'a'}}),new Uint8Array(buf))); const s=NativeScope.ofConfined(),m=s.allocate(64); attempt(()=>b.join(Object.defineProperty(['a'],0,{get(){s.close();return 'a'}}),m)); const h=b.store_open('x'); attempt(()=>b.total(Object.defineProperty([h,h],1,{get(){h.close();return h}})))`,
    'TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'proxies of everything': [
    `const s=b.store_open('x'); const p=new Proxy(s,{}), lie=lying(MemorySegment.allocateNative(8), 'byteSize', 1 << 30), lieArray=lying(new Int32Array(2), 'byteLength', 1 << 30); for(const g of [()=>b.store_add(p,1),()=>b.store_close(p),()=>b.sum(lie),()=>b.sum(lieArray),()=>b.total([p]),()=>b.needs_pointer(p),()=>b.text_size(p),()=>b.read_into(lie,1),()=>b.keep_text(lie),()=>b.store_destroy(p),()=>p.close(),()=>b.flags_sum(new Proxy(b.flags.allocate(NativeScope.ofConfined()),{})),()=>textOf(p)]) attempt(g); await attemptLater(()=>b.sum.async(lie)); await attemptLater(()=>b.cursor_next.async(p))`,
    'gave 0, gave 0, TENON_ARGUMENT, TENON_ARGUMENT, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_ARGUMENT, gave MemorySegment, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave 0, TENON_SCOPE_CLOSED, TENON_ARGUMENT, TENON_SCOPE_CLOSED',
  ],
  'segment with own byteSize': [
    `const m=MemorySegment.allocateNative(8); attempt(()=>Object.defineProperty(m,'byteSize',{value:1<<30})); attempt(()=>b.sum(m)); class L extends MemorySegment { get byteSize(){return 1<<30} }; attempt(()=>b.sum(new L(m.block,0,8,0)))`,
    'gave MemorySegment, TENON_ARGUMENT, TypeError',
  ],
  'struct with changed segment': [
    `const sc=NativeScope.ofConfined(); const f=b.flags.allocate(sc); let n=0; Object.defineProperty(f,'segment',{get(){return n++?MemorySegment.ofBuffer(new Uint8Array(1)):b.flags.allocate(sc).segment}}); attempt(()=>b.flags_sum(f)); attempt(()=>b.flags_read(f)); class Big extends b.flags{}; Big.byteSize=1; attempt(()=>b.flags_sum(Big.allocate(sc)))`,
    'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  variadic: [
    `const o=new Uint8Array(64); for(const a of [[['int32,int32',1]],[['text',5]],[['pointer',5]],[['nothing',1]],[[{toString(){return 'int32'}},5]],[[Symbol(),5]],[['__proto__',5]],[['float32',1.5]],[['int8',300]],[['bool',7]],[undefined],[Symbol()],[{}],[[1,2,3]],[new Proxy([1,2],{})],[null],[['uint64',-1]],['\\0'],[NaN],[-0]]) attempt(()=>b.format(o,64n,'%d %d',...a)); attempt(()=>b.format(o,64n,'%d %d',1,2)); attempt(()=>b.format(o,64n,'%d %d',['int32,int32',1])); attempt(()=>b.format(o)); attempt(()=>b.format()); attempt(()=>b.format(o,64n,null)); attempt(()=>b.format(o,64n,'%s','\\ud800')); attempt(()=>b.format(o,64n,'x',...Array(2000).fill(1)))`,
    'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave 3, TENON_ARGUMENT, TENON_ARGUMENT, gave 3, gave 3, gave 3, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave -1, gave 3, TENON_ARGUMENT',
  ],
  'results of an array': [
    `attempt(()=>b.lookup(Int32Array.of(1,2,3))); attempt(()=>b.lookup(null)); attempt(()=>b.lookup([1,2])); attempt(()=>b.lookup(new Uint8Array(3)))`,
    'gave Int32Array, gave Int32Array, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'huge lengths of results': [`attempt(()=>b.text_huge());`, 'TENON_ARGUMENT'],
  'huge lengths of numbers': [
    `const n=attempt(()=>b.numbers_huge()); attempt(()=>n.byteSize)`,
    'TENON_ARGUMENT, TypeError',
  ],
  numbers: [
    `attempt(()=>b.fill_out()); attempt(()=>b.text_at(0)); attempt(()=>b.text_at(0n)); attempt(()=>b.text_long(1<<21))`,
    'TENON_ARGUMENT, gave null, gave null, TENON_NATIVE',
  ],
  'slots are released after errors': [
    `for(let i=0;i<10000;i++){ try{b.divide(1,0)}catch{} try{b.divide('x',0)}catch{} try { b.store_open('bad') }catch{} } attempt(()=>b.divide(9,2))`,
    'gave Object',
  ],
  'texts arrays': [
    `const out=new Uint8Array(64); for(const t of [[,'a'],Object.defineProperty(['a','b'],1,{get(){return 'c'}}),new Proxy(['a','b'],{}),new Proxy(['a'],{get(t,k){return k==='length'?1e3:t[k]}}),new (class extends Array{get length(){return 3}})('a'),Array.from({length:3},()=>null),Object.assign(['a'],{[Symbol.iterator]:function*(){yield 'q';yield 'r'}}),{length:1,0:'a'},'abc',new Set(['a']),[Symbol()],[{toString(){return 'x'}}],[['a']],[b.store_open('x')],[new Proxy(b.store_open('x'),{})], [out]]) { attempt(()=>b.join(t,out));  out.fill(0) }`,
    'TENON_ARGUMENT, gave 4, gave 4, TENON_ARGUMENT, gave 2, gave 6, gave 2, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave 1, gave 1, TENON_ARGUMENT',
  ],
  'the end of a worker in calls': [
    `const w = started('const s = b.store_open("x"); b.store_add(s, 1); b.slow.async(100); b.call_later(() => 1, 50); b.store_keep(() => 1); parentPort.postMessage(1); b.store_each(s, () => { for (;;); })'); await new Promise((r) => w.once('message', r)); await sleep(20); await w.terminate(); await sleep(150); attempt(() => b.store_live() > 0); attempt(() => b.store_call_kept(1))`,
    'gave true, gave 0',
  ],
  'results of a typed array': [`console.log([...b.lookup(Int32Array.of(1, 2, 3))].join(' '))`, '2 4 6'],
  'a handle sent to a worker': [`attempt(() => structuredClone(b.store_open('x')))`, '25'],
}
