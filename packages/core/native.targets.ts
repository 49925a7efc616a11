import { names, type NativePackage } from '@tenon/build'

import { fixtures } from './native.fixtures.ts'

const includes = ['csrc/include', 'include']

/** The kernels that a worker runs. */
const hostKernels = ['csrc/host/kernels/*.c', 'csrc/tvm/host/ffi_table.c']

/** Every native artifact of @tenon/core. The platform packages carry the shared ones. */
export default {
  acyclic: true,
  topics: {
    directory: 'csrc',
    shared: 'csrc/include',
    levels: [
      ['base'],
      ['call'],
      ['arrow', 'convert', 'nnapi', 'pools', 'tstring', 'tvm', 'xla'],
      ['tensorflow'],
      ['host', 'node'],
    ],
  },
  platformPackages: 'npm',
  statusTable: { source: 'csrc/include/status.def', output: 'src/generated/status.ts' },
  abi: {
    headers: [
      {
        source: 'include/tenon/xla_ffi.h',
        include: 'tenon/xla_ffi.h',
        only: names(`
          tn_xla_buffer_t tn_xla_bundle_t tn_xla_api_version_t tn_xla_type_id_t tn_xla_metadata_t TN_XLA_ARRAY
          TN_XLA_DICTIONARY TN_XLA_SCALAR TN_XLA_STRING TN_XLA_TRAIT_COMMAND_BUFFER_COMPATIBLE
        `),
      },
      {
        source: 'include/tenon/tvm_dlpack.h',
        include: 'tenon/tvm_dlpack.h',
        only: ['DLD*', 'DLTensor', 'DLPackVersion', 'DLPACK_FLAG_*', 'kDLCPU'],
      },
      {
        source: 'include/tenon/tvm_ffi.h',
        include: 'tenon/tvm_ffi.h',
        only: names(`
          kTVMFFI* TVMFFIObjectHandle TVMFFIObject TVMFFIAny TVMFFIByteArray TVMFFIShapeCell TVMFFIFieldInfo
          TVMFFIFieldGetter TVMFFIMethodInfo TVMFFIObjectCreator TVMFFITypeMetadata TVMFFITypeInfo
        `),
      },
      {
        source: 'include/tenon/tvm_runtime.h',
        include: 'tenon/tvm_runtime.h',
        only: ['kTVM*', 'kDLDevice'],
      },
      { source: 'csrc/include/tenon.h' },
      { source: 'csrc/include/tenon_call.h' },
      { source: 'csrc/include/tenon_convert.h' },
      { source: 'csrc/include/tenon_xla.h' },
      { source: 'csrc/include/tenon_tstring.h' },
      { source: 'csrc/include/tenon_arrow.h' },
      { source: 'csrc/include/tenon_pools.h' },
      { source: 'csrc/include/tenon_host.h' },
      { source: 'csrc/include/tenon_nnapi.h' },
      { source: 'csrc/include/tenon_tvm.h' },
      { source: 'csrc/include/tenon_tensorflow.h' },
    ],
    exportMacro: 'TN_API',
    functions: 'src/generated/functions.ts',
    layouts: 'src/generated/layouts.ts',
    structs: 'src/generated/structs.ts',
    proof: 'csrc/test/generated/layouts.c',
  },
  targets: [
    {
      name: 'tenon',
      kind: 'shared',
      sources: [
        'csrc/{arrow,base,call,convert,pools,tstring,xla}/*.c',
        'csrc/call/{sysv_x64|aapcs64|win64}.S',
        // Pools and workers have no files for Windows.
        'csrc/{base,call,pools,host/client,host/server}/{posix|win32}/*.c',
      ],
      includes,
      libraries: ['dl', 'm', 'pthread'],
      exports: ['tn_*', 'XLA_FFI_GetApi', 'XlaCustomCallStatus*', '_ZN3xla*', '_ZNK3xla*'],
      imports: names(`
        _Exit __errno_location __sched_cpucount accept4 bind calloc clock_gettime close connect dl_iterate_phdr dladdr dladdr1 dlerror
        dlinfo dlopen dlsym dlvsym epoll_create1 epoll_ctl epoll_wait eventfd fallocate fchmod fcntl fesetenv free fstat fstatfs ftruncate
        getauxval getenv getpid getrlimit getsockopt ioctl kill listen lseek madvise malloc memchr memcmp memcpy memfd_create memmove
        memset mincore mmap mprotect mremap msync munmap open pipe2 poll posix_memalign posix_spawn posix_spawn_file_actions_*
        posix_spawnattr_* ppoll process_vm_readv pthread_attr_* pthread_cond_broadcast pthread_cond_init pthread_cond_signal
        __pthread_register_cancel __pthread_unregister_cancel __pthread_unwind_next __sigsetjmp _pthread_cleanup_pop _pthread_cleanup_push
        pthread_cond_timedwait pthread_condattr_* pthread_create pthread_getattr_np pthread_key_create pthread_mutex_init
        pthread_mutex_lock pthread_mutex_unlock pthread_mutexattr_* pthread_self pthread_setspecific pthread_sigmask qsort read
        realloc realpath recv recvmsg sched_getaffinity sched_getcpu sched_setaffinity send sendmsg setitimer setsockopt shutdown sigaction sigaddset sigaltstack sigdelset sigemptyset
        sigfillset siglongjmp signal sigsetjmp snprintf socket socketpair stat strchr strcmp strerror strlen strncmp strrchr syscall sysconf vsnprintf waitid write
      `),
      systemImports: {
        darwin: names(`
          _FE_DFL_ENV __error accept arc4random chmod getpeereid kevent kqueue nanosleep pipe
          pthread_cond_timedwait_relative_np shm_open shm_unlink sysctlbyname
        `),
        win32: names(`
          CreateThread FlushInstructionCache FormatMessageA GetFullPathNameW GetModuleHandleExW GetProcessAffinityMask
          GetSystemInfo GetTickCount64 LoadLibraryExW SetLastError VirtualAlloc VirtualFree VirtualQuery wcspbrk
        `),
      },
    },
    {
      name: 'tenon_guard',
      kind: 'shared',
      sources: ['csrc/call/guard.cc'],
      includes,
      imports: names(`
        _Unwind_* _ZNKSt* _ZNSt* _ZSt* _ZTIN10__cxxabiv1* _ZTINSt* _ZTIPKc _ZTISt* _ZTVN10__cxxabiv1* __cxa_*
        __gxx_personality_v0 free memcpy strcmp strnlen
      `),
    },
    {
      name: 'tenon_node',
      kind: 'addon',
      fileName: 'tenon.node',
      sources: ['csrc/node/*.c'],
      includes: [...includes, 'node_modules/node-api-headers/include'],
      // Functions of a later version would keep Node.js 22 from loading it.
      defines: { NAPI_VERSION: '8' },
      uses: ['tenon'],
      libraries: ['dl'],
      imports: ['calloc', 'dlsym', 'free', 'getpid', 'malloc', 'memchr', 'memcpy', 'syscall', 'tn_*'],
    },
    {
      // Runs kernels in a process of its own.
      name: 'tenon-host',
      kind: 'executable',
      systems: ['linux'],
      // musl has no backtrace().
      libc: 'gnu',
      sources: ['csrc/host/*.c', ...hostKernels],
      includes,
      libraries: ['dl', 'pthread'],
      uses: ['tenon'],
      exports: ['aligned_alloc', 'calloc', 'malloc', 'memalign', 'posix_memalign', 'realloc'],
      imports: names(`
        XlaCustomCallStatusSetSuccess abort __errno_location __libc_calloc __libc_malloc __libc_memalign __libc_realloc
        __libc_start_main alarm close dladdr fprintf free fstat getpid getppid getrlimit memchr memcpy memmove memset mmap mprotect
        munmap open pause prctl pthread_mutex_lock pthread_mutex_unlock raise setrlimit setvbuf sigaction sigaltstack sigemptyset signal snprintf stderr stdout
        strerror strlen strrchr strstr syscall tn_* vsnprintf
      `),
    },
    {
      name: 'tenon_nnapi',
      kind: 'shared',
      sources: ['csrc/nnapi/*.c'],
      includes,
      libraries: ['m'],
      exports: ['tn_nn_check', 'tn_nn_run', 'tn_nn_watch'],
      imports: names('exp expf floor memcpy memmove memset round sqrt sqrtf tanh trunc'),
    },
    {
      // Kernels ask the loader for this name.
      name: 'tvm_ffi',
      kind: 'shared',
      sources: ['csrc/tvm/once.c', 'csrc/tvm/ffi/*.c', 'csrc/tvm/ffi/{posix|win32}/*.c'],
      includes,
      libraries: ['pthread'],
      uses: ['tenon'],
      exports: ['TVMFFI*', 'tn_tvm_*'],
      imports: names(`
        abort backtrace calloc clock_gettime dladdr fprintf free getenv malloc memchr memcmp memcpy memmove
        memset pthread_cond_broadcast pthread_cond_init pthread_cond_timedwait pthread_condattr_* pthread_mutex_lock pthread_mutex_unlock realloc snprintf
        stderr strcmp strlen strncmp strtol tn_address_is_data tn_guard_call tn_last_error tn_library_function
        tn_library_open tn_library_process tn_library_symbol vsnprintf
      `),
      systemImports: {
        darwin: ['__stderrp', 'pthread_cond_timedwait_relative_np'],
        win32: ['GetModuleFileNameA', 'GetModuleHandleExA', 'RtlLookupFunctionEntry'],
      },
    },
    {
      name: 'tenon_packed',
      kind: 'shared',
      sources: [
        'csrc/tvm/once.c',
        'csrc/tvm/host/*.c',
        'csrc/tvm/host/{posix|win32}/*.c',
        'csrc/base/{posix|win32}/thread.c',
      ],
      includes,
      libraries: ['dl', 'pthread'],
      uses: ['tenon'],
      exports: ['tn_packed_*', 'TVMBackend*'],
      imports: names(`
        __sched_cpucount calloc clock_gettime dladdr dlerror dlopen free getenv malloc memcpy memmove pthread_attr_*
        pthread_cond_broadcast pthread_cond_init pthread_cond_timedwait pthread_condattr_* pthread_create pthread_key_create pthread_mutex_lock
        pthread_mutex_unlock pthread_setspecific pthread_sigmask sched_getaffinity sigaction sigdelset sigfillset
        snprintf strlen strtol sysconf tn_callback_* tn_completion_post tn_environment_* tn_guard_call tn_jobs_add
        tn_last_error tn_library_symbol tn_memory_allocate tn_memory_free
      `),
      systemImports: {
        darwin: ['pthread_cond_timedwait_relative_np', 'sysctlbyname'],
        win32: names(`
          CreateThread GetModuleFileNameW GetModuleHandleExW GetProcessAffinityMask GetSystemInfo tn_library_open
        `),
      },
    },
    {
      // The convention before tvm-ffi. Loaded for kernels that use it.
      name: 'tvm_runtime',
      kind: 'shared',
      sources: ['csrc/tvm/legacy/*.c', 'csrc/tvm/host/{posix|win32}/thread_end.c'],
      includes,
      libraries: ['pthread'],
      uses: ['tenon', 'tvm_ffi'],
      exports: ['TVM*', 'tn_tvm_legacy_install'],
      imports: names(`
        TVMFFI* calloc free malloc memcmp memcpy memmove pthread_key_create pthread_mutex_lock pthread_mutex_unlock
        pthread_setspecific snprintf strcmp strcspn strlen strncmp strstr tn_memory_allocate tn_memory_free
        tn_tvm_find_type tn_tvm_set_legacy_caller vsnprintf
      `),
    },
    {
      // Kernels ask the loader for TensorFlow's library. Loaded for libraries that use TensorFlow's C API.
      name: 'tenon_tensorflow',
      kind: 'shared',
      systems: ['linux', 'darwin'],
      soname: { linux: 'libtensorflow_framework.so.2', darwin: 'libtensorflow_framework.2.dylib' },
      sources: ['csrc/tensorflow/!(c_distribution).c'],
      includes,
      libraries: ['dl', 'pthread'],
      uses: ['tenon'],
      exports: ['TF_*', 'tn_tf_*'],
      imports: names(`
        calloc clock_gettime dladdr dlclose dlopen fprintf free malloc memcpy memmove pthread_cond_broadcast pthread_cond_init
        pthread_cond_timedwait pthread_condattr_* pthread_mutex_lock pthread_mutex_unlock realloc snprintf stderr strcmp strcpy strdup strerror strlen
        tn_completion_post tn_environment_for_job tn_environment_id tn_guard_call tn_jobs_add tn_jobs_remove tn_last_error
        tn_library_symbol tn_memory_allocate tn_memory_free tn_tstring_* vsnprintf
      `),
      systemImports: { darwin: ['__stderrp', 'pthread_cond_timedwait_relative_np'] },
    },
    {
      // The C distribution of TensorFlow, for libraries that were linked with it.
      name: 'tenon_tensorflow_c',
      kind: 'shared',
      systems: ['linux'],
      soname: { linux: 'libtensorflow.so.2' },
      versionScript: 'csrc/tensorflow/c_distribution.map',
      sources: ['csrc/tensorflow/c_distribution.c'],
      imports: [],
    },
    ...fixtures,
    {
      name: 'core_test',
      kind: 'test',
      // Tests make pools of their own, whose threads end sooner than those of the core, and call the assembly directly.
      sources: [
        'csrc/test/*.c',
        'csrc/test/!(posix|win32)/*.c',
        'csrc/test/{posix|win32}/*/*.c',
        'csrc/test/{posix|win32}/*.cc',
        'csrc/call/{crash_page,job_pool,thread_limit}.c',
        'csrc/call/{sysv_x64|aapcs64|win64}.S',
        'csrc/call/{posix|win32}/thread_exit.c',
        'csrc/base/{posix|win32}/thread.c',
      ],
      includes: [...includes, 'csrc', 'csrc/test'],
      uses: ['tenon', 'tenon_guard', 'tenon_nnapi', 'tvm_ffi', 'tenon_packed', 'tvm_runtime'],
      libraries: ['dl', 'pthread', 'm'],
    },
    {
      // The functions of a worker, in one process with their client.
      name: 'host_test',
      kind: 'test',
      systems: ['linux'],
      libc: 'gnu',
      sources: ['csrc/test/main.c', 'csrc/test/posix/host/kernels/*.c', ...hostKernels],
      includes: [...includes, 'csrc', 'csrc/test'],
      uses: ['tenon'],
      libraries: ['dl', 'pthread'],
    },
    {
      // The host as a part of the program, because no other library finds it by its soname.
      name: 'tensorflow_test',
      kind: 'test',
      systems: ['linux', 'darwin'],
      sources: ['csrc/test/main.c', 'csrc/test/posix/tensorflow/host/*.c', 'csrc/tensorflow/!(c_distribution).c'],
      includes: [...includes, 'csrc', 'csrc/test'],
      uses: ['tenon'],
      libraries: ['dl', 'pthread'],
    },
    {
      name: 'xla_frame_fuzz',
      kind: 'fuzz',
      sources: ['csrc/fuzz/xla/frame_fuzz.c'],
      includes,
      uses: ['tenon', 'tenon_guard'],
    },
    {
      name: 'pools_message_fuzz',
      kind: 'fuzz',
      sources: ['csrc/fuzz/pools/message_fuzz.c'],
      includes: [...includes, 'csrc'],
      uses: ['tenon'],
    },
    {
      name: 'host_requests_fuzz',
      kind: 'fuzz',
      systems: ['linux'],
      sources: ['csrc/fuzz/host/requests_fuzz.c', 'csrc/test/posix/host/kernels/support.c', ...hostKernels],
      includes: [...includes, 'csrc', 'csrc/test', 'csrc/test/posix/host/kernels'],
      uses: ['tenon', 'tenon_guard'],
      libraries: ['dl', 'pthread'],
    },
    {
      name: 'host_memory_fuzz',
      kind: 'fuzz',
      systems: ['linux'],
      sources: ['csrc/fuzz/host/memory_fuzz.c'],
      includes: [...includes, 'csrc', 'csrc/test'],
      uses: ['tenon'],
      libraries: ['dl', 'pthread'],
    },
    {
      name: 'nnapi_fuzz',
      kind: 'fuzz',
      sources: ['csrc/fuzz/nnapi/nnapi_fuzz.c'],
      includes: [...includes, 'csrc'],
      uses: ['tenon_nnapi'],
    },
    {
      name: 'tstring_fuzz',
      kind: 'fuzz',
      sources: ['csrc/fuzz/tstring/tstring_fuzz.c'],
      includes,
      uses: ['tenon'],
    },
  ],
} satisfies NativePackage
