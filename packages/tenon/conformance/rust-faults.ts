/** A library of Rust with a function for each kind of fault. */
export const RUST_FAULTS = `#![allow(unconditional_recursion)]
use std::alloc::{alloc, dealloc, Layout};
use std::hint::black_box;
use std::os::raw::{c_char, c_void};
extern "C" {
    fn mmap(at: *mut c_void, size: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut c_void;
    fn memfd_create(name: *const c_char, flags: u32) -> i32;
}
pub trait Store { fn store(&self, to: *mut i64); }
pub struct Node<T>(T);
impl<T: Copy + Into<i64>> Store for Node<T> {
    #[inline(never)]
    fn store(&self, to: *mut i64) {
        unsafe { to.write_volatile(self.0.into()) }
    }
}
mod inner {
    #[inline(always)]
    pub fn divide(n: i32, by: i32) -> i32 {
        n / by
    }
    #[inline(always)]
    pub unsafe fn write(to: *mut i32, n: i32) {
        to.write_volatile(n);
    }
}
#[no_mangle]
pub extern "C" fn enter_null(n: i32) {
    let node: Box<dyn Store> = Box::new(Node(n));
    node.store(black_box(std::ptr::null_mut()));
}
#[no_mangle]
pub extern "C" fn enter_useAfterFree(n: i32) {
    let layout = Layout::from_size_align(64 << 20, 16).unwrap();
    unsafe {
        let to = black_box(alloc(layout));
        dealloc(to, layout);
        inner::write(black_box(to) as *mut i32, n);
    }
}
#[no_mangle]
pub extern "C" fn enter_stackOverflow(n: i32) -> i32 {
    let big = black_box([n; 1024]);
    enter_stackOverflow(black_box(n + 1)) + big[(n & 1023) as usize]
}
#[no_mangle]
pub extern "C" fn enter_abort(n: i32) {
    if n > 0 {
        std::process::abort();
    }
}
#[no_mangle]
pub extern "C" fn enter_assert(n: i32) {
    assert!(n < 0, "n must be negative");
}
#[no_mangle]
pub extern "C" fn enter_badFree(_n: i32) {
    let layout = Layout::from_size_align(64, 8).unwrap();
    unsafe { dealloc(black_box(alloc(layout)).add(8), layout) }
}
#[no_mangle]
pub extern "C" fn enter_division(n: i32) -> i32 {
    inner::divide(n, black_box(0))
}
#[no_mangle]
pub extern "C" fn enter_illegalInstruction(_n: i32) {
    unsafe { std::arch::asm!("ud2") }
}
#[no_mangle]
pub extern "C" fn enter_throw(n: i32) -> i32 {
    let numbers: Vec<i32> = (0..n).collect();
    numbers.iter().map(|at| numbers[black_box(*at as usize + 1)]).sum()
}
#[no_mangle]
pub extern "C" fn enter_busError(n: i32) {
    unsafe { inner::write(mmap(std::ptr::null_mut(), 4096, 3, 1, memfd_create(b"empty\\0".as_ptr() as *const c_char, 0), 0) as *mut i32, n) }
}
`
