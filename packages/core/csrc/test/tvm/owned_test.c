/* The references that JavaScript owns, at the end of its thread. */
#include "environment.h"
#include "support.h"
#include "thread.h"

enum { OBJECTS = 3 * TN_PACKED_PLACES, WORKERS = 4, ENDS = 20 };

static void bind(void) { REQUIRE(tn_packed_bind(tn_packed_loaded_library()) == TN_OK); }

/* The addresses of places, as JavaScript stores them. */
static void own(double *place, TVMFFIObjectHandle object) { *place = (double)(uintptr_t)object; }

static atomic_int ended;

static void count_end(void *self) {
  (void)self;
  atomic_fetch_add(&ended, 1);
}

static int do_nothing(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  (void)self, (void)args, (void)count, (void)result;
  return 0;
}

static TVMFFIObjectHandle make_function(void *self, void (*deleter)(void *)) {
  TVMFFIObjectHandle function = NULL;
  REQUIRE(TVMFFIFunctionCreate(self, do_nothing, deleter, &function) == 0);
  return function;
}

static double *add_places(tn_packed_stack_t *stack) {
  double *places = NULL;
  REQUIRE(tn_packed_add_places(stack, &places) == TN_OK);
  return places;
}

TEST(owned_references_are_released_by_their_place_or_at_the_end) {
  bind();
  environment_t *environment = environment_open();
  const int64_t before = tn_tvm_live_objects();
  tn_packed_stack_t *stack;
  CHECK(tn_packed_open(&stack) == TN_OK);
  atomic_store(&ended, 0);
  double *places = NULL;
  for (int i = 0; i < OBJECTS; i++) {
    if (i % TN_PACKED_PLACES == 0) places = add_places(stack);
    double *place = &places[i % TN_PACKED_PLACES];
    own(place, make_function(NULL, count_end));
    if (i % 3 == 0) tn_packed_release_place(place);
    if (i % 6 == 0) tn_packed_release_place(place);
    if (i % 9 == 0) *place = -i;
  }
  CHECK(atomic_load(&ended) == OBJECTS / 3);
  environment_close(environment);
  CHECK(atomic_load(&ended) == OBJECTS);
  CHECK(tn_tvm_live_objects() == before);
}

/* A function of TypeScript, which never runs here. */
static int run_script(environment_t *environment) {
  (*(int *)environment->data)++;
  return RETURNS;
}

static TVMFFIObjectHandle callee;

/* A destructor that calls a function of TypeScript, as those of closures do, and leaves the error. */
static void call_back(void *self) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  *(int *)self = TVMFFIFunctionCall(callee, NULL, 0, &result);
  atomic_fetch_add(&ended, 1);
}

TEST(destructors_at_the_end_cannot_call_typescript) {
  bind();
  const int64_t before = tn_tvm_live_objects();
  environment_t *environment = environment_open();
  int runs = 0, status = 0;
  environment->data = &runs;
  environment->functions[FIRST_FUNCTION] = run_script;
  tn_packed_stack_t *stack;
  CHECK(tn_packed_open(&stack) == TN_OK);
  TVMFFIAny *slot = (TVMFFIAny *)(void *)((char *)stack + TN_PACKED_SLOTS);
  tn_callback_t *callback;
  CHECK(tn_callback_create(FIRST_FUNCTION, &callback) == TN_OK);
  CHECK(tn_packed_function_create(slot, callback, TN_PACKED_THREADS_REFUSE, 0) == 0);
  tn_callback_release(callback);
  callee = slot->v_obj;
  double *places = add_places(stack);
  atomic_store(&ended, 0);
  own(&places[0], make_function(&status, call_back));
  own(&places[1], callee);
  environment_close(environment);
  CHECK(atomic_load(&ended) == 1 && runs == 0 && status == -1);
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  CHECK(error == NULL);
  CHECK(tn_tvm_live_objects() == before);
}

/* A worker that owns objects of its own and a reference to one of all workers. */
static void *work(void *shared) {
  for (int i = 0; i < ENDS; i++) {
    environment_t *environment = environment_open();
    tn_packed_stack_t *stacks[2];
    for (int copy = 0; copy < 2; copy++) {
      REQUIRE(tn_packed_open(&stacks[copy]) == TN_OK);
      double *places = add_places(stacks[copy]);
      for (int j = 0; j < 100; j++) own(&places[j], make_function(NULL, count_end));
      tn_packed_retain(shared);
      own(&places[TN_PACKED_PLACES - 1], shared);
    }
    environment_close(environment);
  }
  return NULL;
}

TEST(many_threads_release_what_they_own) {
  bind();
  const int64_t before = tn_tvm_live_objects();
  atomic_store(&ended, 0);
  TVMFFIObjectHandle shared = make_function(NULL, count_end);
  test_thread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) CHECK(thread_start(&threads[i], work, shared));
  for (int i = 0; i < WORKERS; i++) thread_join(&threads[i]);
  CHECK(atomic_load(&ended) == WORKERS * ENDS * 2 * 100);
  TVMFFIObjectDecRef(shared);
  CHECK(atomic_load(&ended) == WORKERS * ENDS * 2 * 100 + 1);
  CHECK(tn_tvm_live_objects() == before);
}

/* A stack in memory of JavaScript, and an error of its thread that outlives both. */
typedef struct {
  unsigned char *memory;
  TVMFFIObjectHandle error;
} outliving_t;

static void *open_in_memory(void *data) {
  outliving_t *outliving = data;
  tn_packed_stack_t *stack;
  if (tn_packed_open_in(outliving->memory, &stack) != TN_OK || (void *)stack != outliving->memory) return "open";
  TVMFFIAny *slot = (TVMFFIAny *)(void *)(outliving->memory + TN_PACKED_SLOTS);
  if (tn_packed_error_create(slot, "Kmessage", 1, 7, 0, 42, NULL) != TN_OK) return "create";
  outliving->error = slot->v_obj;
  return NULL;
}

TEST(tvm_the_memory_of_a_stack_may_end_before_what_native_code_holds_of_it) {
  enum { AFTER = 0xa5 };
  bind();
  void *memory;
  CHECK(tn_memory_allocate(TN_PACKED_MEMORY_SIZE, TN_PACKED_STACK_SIZE, &memory) == TN_OK);
  outliving_t outliving = {memory, NULL};
  test_thread_t thread;
  CHECK(thread_start(&thread, open_in_memory, &outliving));
  CHECK(thread_join(&thread) == NULL);
  /* Another owner has the memory now. */
  memset(memory, AFTER, TN_PACKED_MEMORY_SIZE);
  TVMFFIObjectDecRef(outliving.error);
  for (size_t i = 0; i < TN_PACKED_MEMORY_SIZE; i++) CHECK(outliving.memory[i] == AFTER);
  tn_memory_free(memory);
}
