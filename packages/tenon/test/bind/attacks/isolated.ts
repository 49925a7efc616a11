import type { Attempts } from '../../attacks/attempt.ts'

/** Attempts with a module `b` whose functions run in a worker `w`, beside the same module `own` in this process. */
export const isolated: Attempts = {
  'pointers as text': [
    `for(const a of [8n,1n<<62n,2n**64n-1n,1n<<47n,0xdeadbeefn,0n]) attempt(()=>b.text_at(a)); attempt(()=>b.text_long(1<<21)); attempt(()=>b.store_live())`,
    'TENON_KERNEL_CRASH, TENON_KERNEL_CRASH, TENON_KERNEL_CRASH, TENON_KERNEL_CRASH, TENON_KERNEL_CRASH, gave null, TENON_NATIVE, gave 0',
  ],
  'huge lengths': [
    `attempt(()=>b.text_huge()); attempt(()=>b.numbers_huge()); attempt(()=>b.fill_out()); attempt(()=>b.store_live())`,
    'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave 0',
  ],
  'own byteLength': [
    `class A extends Int32Array { get byteLength(){return 1<<30} get length(){return 1<<28} }; attempt(()=>b.sum(new A(2))); attempt(()=>b.read_into(new A(2),1)); await attemptLater(()=>b.sum.async(new A(2))); const lie=lying(MemorySegment.allocateNative(8), 'byteSize', 1 << 30); attempt(()=>b.sum(lie)); attempt(()=>b.store_live())`,
    'gave 0, gave 8, gave 0, TENON_ARGUMENT, gave 0',
  ],
  'pointer of another process used here': [
    `const s=b.store_open('x'); for(const g of [()=>own.store_add(s,1),()=>own.total([s]),()=>own.store_close(s),()=>own.store_destroy(s),()=>own.text_size(s),()=>s.getInt32(0),()=>s.reinterpret(8),()=>s.asSlice(0,0).getInt8(0),()=>s.fill(0),()=>own.api.of(s),()=>own.api.at(s),()=>own.format(new Uint8Array(9),9n,'%s',s),()=>{own.attack_store.value=s},()=>own.attack_store.value.address,()=>textOf(s),()=>own.cursor_open(s,'q'),()=>own.needs_pointer(s),()=>own.keep_text(s),()=>MemorySegment.ofSegment?.(s).getInt8(0),()=>new Uint8Array(s.toArrayBuffer?.()),()=>structuredClone(s), ()=>{const f=own.flags.allocate(NativeScope.ofConfined()); f.text=s; return f.text}]) attempt(g); await attemptLater(()=>own.cursor_next.async(s)); await attemptLater(()=>own.slow.async(s))`,
    'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave Store, TENON_ARGUMENT, TENON_BOUNDS, TENON_ARGUMENT, TENON_ARGUMENT, gave 0, gave , TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave Uint8Array, 25, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT',
  ],
  'pointer of this process used there': [
    `const s=own.store_open('x'); for(const g of [()=>b.store_add(s,1),()=>b.store_close(s),()=>b.store_destroy(s),()=>b.text_size(s),()=>b.needs_pointer(MemorySegment.ofAddress(8n)),()=>b.text_free(s), ()=>b.cursor_open(s,'q'), ()=>b.sum(s)]) attempt(g); attempt(()=>own.store_add(s,1))`,
    'TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, TENON_KERNEL_CRASH, TENON_ARGUMENT, TENON_ARGUMENT, TENON_ARGUMENT, gave 0',
  ],
  'two libraries': [
    `const b2=await load(); const w2=await Library.isolate(b2.library,{workers:1}); const s=b.store_open('x'), t=b2.store_open('y'); attempt(()=>b2.store_add(s,1)); attempt(()=>b.store_add(t,1)); attempt(()=>b.store_close(t)); attempt(()=>b.store_destroy(t)); await attemptLater(()=>b.cursor_next.async(t)); attempt(()=>b.store_add(s,1)); await w2.closeAsync(); attempt(()=>t.close()); attempt(()=>b2.store_live()); attempt(()=>s.close())`,
    'TENON_WORKER_LOST, TENON_WORKER_LOST, TENON_WORKER_LOST, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave 0, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave undefined',
  ],
  'handles after crash': [
    `const s=b.store_open('x'), c=b.cursor_open(s,'q'); attempt(()=>b.needs_pointer(MemorySegment.ofAddress(64n))); for(const g of [()=>b.store_add(s,1),()=>b.cursor_next(c),()=>textOf(s),()=>b.cursor_open(s,'q'),()=>b.store_destroy(s),()=>b.store_close(s),()=>c.close(),()=>s.close(),()=>b.store_live()]) attempt(g); await attemptLater(()=>b.open_slow.async(s,1))`,
    'TENON_KERNEL_CRASH, TENON_WORKER_LOST, TENON_WORKER_LOST, TENON_WORKER_LOST, TENON_WORKER_LOST, TENON_WORKER_LOST, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave 0, TENON_SCOPE_CLOSED',
  ],
  'handles after restart': [
    `const s=b.store_open('x'), c=b.cursor_open(s,'q'); await w.restart(); for(const g of [()=>b.store_add(s,1),()=>b.cursor_next(c),()=>c.close(),()=>s.close(),()=>b.store_live()]) attempt(g)`,
    'TENON_WORKER_LOST, TENON_WORKER_LOST, gave undefined, gave undefined, gave 0',
  ],
  'handles after close': [
    `const s=b.store_open('x'), c=b.cursor_open(s,'q'); const p=b.store_default(true); await w.closeAsync(); for(const g of [()=>b.store_add(s,1),()=>b.cursor_next(c),()=>textOf(s),()=>c.close(),()=>s.close(),()=>b.store_destroy(p),()=>b.store_live()]) attempt(g); await attemptLater(()=>b.slow.async(1))`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave undefined, gave undefined, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'module closed': [
    `const s=b.store_open('x'); b.library.close(); attempt(()=>b.store_add(s,1)); attempt(()=>b.store_live()); attempt(()=>b.library.has('x')); attempt(()=>s.close())`,
    'TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED',
  ],
  'finalize forgotten': [
    `for(let i=0;i<50;i++){ b.store_copy(b.store_default(true)) } await collect(); attempt(()=>b.store_live()<100)`,
    'gave true',
  ],
  'finalize after close': [
    `for(let i=0;i<50;i++){ b.store_copy(b.store_default(true)) } await w.closeAsync(); await collect(); await sleep(50); console.log('survived')`,
    'survived',
  ],
  'finalize after crash': [
    `for(let i=0;i<50;i++){ b.store_copy(b.store_default(true)) } attempt(()=>b.needs_pointer(MemorySegment.ofAddress(64n))); await collect(); await sleep(50); console.log('survived')`,
    'TENON_KERNEL_CRASH, survived',
  ],
  'finalize during async': [
    `for(let i=0;i<50;i++){ b.store_copy(b.store_default(true)) } const p=b.slow.async(300); await collect(); attempt(()=>b.store_live() <= 100); await p`,
    'gave true',
  ],
  'async closed meanwhile': [
    `const s=b.store_open('x'); const p=b.open_slow.async(s,100); attempt(()=>s.close()); attempt(()=>b.store_close(s)); const q=b.slow.async(50); const cl=w.closeAsync({deadline:10}); await attemptLater(()=>p); await attemptLater(()=>q); await cl; attempt(()=>s.close())`,
    'TENON_SCOPE_HELD, TENON_SCOPE_HELD, TENON_SCOPE_CLOSED, TENON_SCOPE_CLOSED, gave undefined',
  ],
  'callbacks and tables': [
    `const s=b.store_open('x'); for(const g of [()=>b.store_each(s,()=>1),()=>b.store_keep(()=>1),()=>b.store_keep(MemorySegment.NULL),()=>b.store_keep(null),()=>b.api.of(b.get_api()).twice(1),()=>b.api.at(b.get_api()),()=>b.call_twice(b.get_api(),4),()=>b.attack_count.value,()=>b.attack_store.value,()=>b.last_failure(),()=>b.failure.of(b.last_failure()).code,()=>b.flags_make(NativeScope.ofConfined(),3).value,()=>b.flags_make(NativeScope.ofConfined(),3).text,()=>b.format(new Uint8Array(20),20n,'%d',5),()=>b.format(new Uint8Array(20),20n,'%s','a'),()=>b.format(new Uint8Array(20),20n,'%s',()=>1),()=>b.format(new Uint8Array(20),20n,'%d',['int32,int32',1]),()=>b.format(new Uint8Array(20),20n,'%s',8), ()=>b.store_live()]) attempt(g)`,
    'TENON_UNSUPPORTED, TENON_UNSUPPORTED, gave undefined, gave undefined, TENON_ARGUMENT, TENON_BOUNDS, gave 8, TENON_UNSUPPORTED, TENON_UNSUPPORTED, gave MemorySegment, TENON_ARGUMENT, gave 3, gave MemorySegment, gave 1, gave 1, TENON_UNSUPPORTED, TENON_ARGUMENT, TENON_KERNEL_CRASH, gave 0',
  ],
}
