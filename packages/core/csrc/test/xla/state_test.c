/* type.c: types and states, with the layouts of 0.1, 0.2 and 0.3. */
#include "check.h"
#include "support.h"

static int destroyed;

static void destroy_state(void *state) {
  (void)state;
  destroyed++;
}

static int64_t object;
static tn_xla_type_id_t type_v1, type_v2, bare;

static tn_xla_error_t *register_v1(tn_xla_call_frame_t *frame, const char *name, tn_xla_type_id_t *id) {
  tn_xla_type_register_args_v1_t args = {sizeof args, NULL, {name, strlen(name)}, id};
  return frame->api->type_register(&args);
}

static tn_xla_error_t *register_v2(tn_xla_call_frame_t *frame, const char *name, tn_xla_type_id_t *id) {
  static const tn_xla_type_info_t info = {sizeof info, NULL, destroy_state};
  tn_xla_type_register_args_v2_t args = {TN_XLA_SIZE_TYPE_REGISTER, NULL, {name, strlen(name)}, id, &info};
  return frame->api->type_register(&args);
}

static tn_xla_error_t *set_v1(tn_xla_call_frame_t *frame) {
  tn_xla_error_t *wrong = type_v1.type_id == 0 ? register_v1(frame, "state_test_v1", &type_v1) : NULL;
  tn_xla_state_set_args_v1_t args = {sizeof args, NULL, frame->ctx, &type_v1, &object, destroy_state};
  return wrong != NULL ? wrong : frame->api->state_set(&args);
}

static tn_xla_error_t *set_v2(tn_xla_call_frame_t *frame) {
  tn_xla_error_t *wrong = type_v2.type_id == 0 ? register_v2(frame, "state_test_v2", &type_v2) : NULL;
  tn_xla_state_set_args_v2_t args = {sizeof args, NULL, frame->ctx, &type_v2, &object};
  return wrong != NULL ? wrong : frame->api->state_set(&args);
}

static tn_xla_error_t *set_v3(tn_xla_call_frame_t *frame) {
  tn_xla_error_t *wrong = type_v2.type_id == 0 ? register_v2(frame, "state_test_v2", &type_v2) : NULL;
  tn_xla_state_set_args_v3_t args = {sizeof args, NULL, frame->ctx, frame->stage, &type_v2, &object};
  return wrong != NULL ? wrong : frame->api->state_set(&args);
}

static void *got;

static tn_xla_error_t *get_v1(tn_xla_call_frame_t *frame) {
  tn_xla_type_id_t *id = type_v1.type_id != 0 ? &type_v1 : &type_v2;
  tn_xla_state_get_args_v1_t args = {sizeof args, NULL, frame->ctx, id, NULL};
  tn_xla_error_t *wrong = frame->api->state_get(&args);
  got = args.state;
  return wrong;
}

static tn_xla_error_t *get_v2(tn_xla_call_frame_t *frame) {
  tn_xla_state_get_args_v1_t args = {sizeof args, NULL, frame->ctx, &type_v2, NULL};
  tn_xla_error_t *wrong = frame->api->state_get(&args);
  got = args.state;
  return wrong;
}

static int32_t stage_to_get;

static tn_xla_error_t *get_v3(tn_xla_call_frame_t *frame) {
  tn_xla_state_get_args_v3_t args = {sizeof args, NULL, frame->ctx, stage_to_get, &type_v2, NULL};
  tn_xla_error_t *wrong = frame->api->state_get(&args);
  got = args.state;
  return wrong;
}

static void *prepare_bundle(uint32_t minor, tn_xla_bundle_v1_t bundle) {
  descriptor_t d;
  put_header(&d, minor, 0, 0, 0, bundle);
  return prepare(&d);
}

/* Instantiates, runs twice and closes. Every version destroys its state once. */
static int keeps_state(uint32_t minor, tn_xla_handler_t *set, tn_xla_handler_t *get) {
  void *call = prepare_bundle(minor, (tn_xla_bundle_v1_t){set, NULL, NULL, get});
  destroyed = 0;
  got = NULL;
  int good = call != NULL && tn_xla_instantiate(call) == TN_OK && tn_xla_execute(call) == TN_OK && got == &object;
  good = good && tn_xla_execute(call) == TN_OK && destroyed == 0;
  good = good && tn_xla_close(call) == TN_OK && destroyed == 1 && tn_xla_close(call) == TN_OK && destroyed == 1;
  tn_memory_free(call);
  return good;
}

TEST(state_lives_from_instantiate_to_close_in_every_version) {
  CHECK(keeps_state(1, set_v1, get_v1));
  CHECK(keeps_state(2, set_v2, get_v2));
  stage_to_get = TN_XLA_INSTANTIATE;
  CHECK(keeps_state(3, set_v3, get_v3));
}

TEST(state_of_a_run_ends_with_the_run) {
  void *call = prepare_bundle(3, (tn_xla_bundle_v1_t){NULL, set_v3, NULL, get_v3});
  stage_to_get = TN_XLA_PREPARE;
  destroyed = 0;
  CHECK(call != NULL && tn_xla_execute(call) == TN_OK && got == &object && destroyed == 1);
  CHECK(tn_xla_execute(call) == TN_OK && destroyed == 2); /* the slot is empty at the start of each run */
  stage_to_get = TN_XLA_INITIALIZE;
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && destroyed == 3); /* the slots are independent */
  const failure_t failure = failure_of(call);
  CHECK(failure.code == TN_XLA_NOT_FOUND && strcmp(failure.text, "State is not set") == 0);
  finish(call);
}

TEST(a_second_call_can_share_the_state) {
  const tn_xla_bundle_v1_t bundle = {set_v3, NULL, NULL, get_v3};
  void *original = prepare_bundle(3, bundle), *second = prepare_bundle(3, bundle);
  stage_to_get = TN_XLA_INSTANTIATE;
  destroyed = 0;
  got = NULL;
  CHECK(original != NULL && second != NULL && tn_xla_instantiate(original) == TN_OK);
  CHECK(tn_xla_share(NULL, original) == TN_INVALID_ARGUMENT);
  CHECK(tn_xla_share(second, original) == TN_OK && tn_xla_execute(second) == TN_OK && got == &object);
  finish(second);
  CHECK(destroyed == 0);
  finish(original);
  CHECK(destroyed == 1);
}

static void *inner;
static int32_t inner_status;

/* Runs the call that shares the state of this one, during a run. */
static tn_xla_error_t *run_inner(tn_xla_call_frame_t *frame) {
  void *call = inner;
  inner = NULL;
  if (call != NULL) inner_status = tn_xla_execute(call);
  return get_v3(frame);
}

TEST(runs_that_share_a_state_have_states_of_their_own) {
  const tn_xla_bundle_v1_t bundle = {set_v3, set_v3, set_v3, run_inner};
  void *original = prepare_bundle(3, bundle), *second = prepare_bundle(3, bundle);
  stage_to_get = TN_XLA_INITIALIZE;
  destroyed = 0;
  inner_status = -1;
  CHECK(original != NULL && second != NULL && tn_xla_instantiate(original) == TN_OK);
  CHECK(tn_xla_share(second, original) == TN_OK);
  inner = second;
  CHECK(tn_xla_execute(original) == TN_OK && inner_status == TN_OK && destroyed == 4);
  finish(second);
  finish(original);
  CHECK(destroyed == 5);
}

TEST(state_is_set_once_and_read_with_its_type) {
  void *call = prepare_bundle(3, (tn_xla_bundle_v1_t){set_v3, NULL, NULL, get_v3});
  CHECK(call != NULL && tn_xla_instantiate(call) == TN_OK && tn_xla_instantiate(call) == TN_KERNEL_FAILED);
  CHECK(failure_of(call).code == TN_XLA_FAILED_PRECONDITION);
  const tn_xla_type_id_t right = type_v2;
  type_v2.type_id = right.type_id + 1000;
  stage_to_get = TN_XLA_INSTANTIATE;
  const int32_t status = tn_xla_execute(call);
  type_v2 = right;
  CHECK(status == TN_KERNEL_FAILED && failure_of(call).code == TN_XLA_INVALID_ARGUMENT);
  stage_to_get = TN_XLA_EXECUTE;
  CHECK(tn_xla_execute(call) == TN_KERNEL_FAILED && failure_of(call).code == TN_XLA_INVALID_ARGUMENT);
  finish(call);
}

static tn_xla_error_t *set_bare(tn_xla_call_frame_t *frame) {
  tn_xla_type_register_args_v2_t args = {TN_XLA_SIZE_TYPE_REGISTER, NULL, {"state_test_bare", 15}, &bare, NULL};
  tn_xla_error_t *wrong = bare.type_id == 0 ? frame->api->type_register(&args) : NULL;
  tn_xla_state_set_args_v2_t set = {sizeof set, NULL, frame->ctx, &bare, &object};
  return wrong != NULL ? wrong : frame->api->state_set(&set);
}

static tn_xla_error_t *set_unregistered(tn_xla_call_frame_t *frame) {
  tn_xla_type_id_t id = {987654};
  tn_xla_state_set_args_v2_t set = {sizeof set, NULL, frame->ctx, &id, &object};
  return frame->api->state_set(&set);
}

static tn_xla_error_t *set_null(tn_xla_call_frame_t *frame) {
  tn_xla_state_set_args_v2_t set = {sizeof set, NULL, frame->ctx, &type_v2, NULL};
  return frame->api->state_set(&set);
}

static failure_t instantiate_fails(tn_xla_handler_t *handler) {
  failure_t failure = {TN_XLA_OK, -1, ""};
  void *call = prepare_bundle(2, (tn_xla_bundle_v1_t){handler, NULL, NULL, get_v2});
  if (call == NULL) return failure;
  if (tn_xla_instantiate(call) == TN_KERNEL_FAILED) failure = failure_of(call);
  finish(call);
  return failure;
}

TEST(a_state_needs_an_object_and_a_type_with_a_deleter) {
  CHECK(instantiate_fails(set_bare).code == TN_XLA_INVALID_ARGUMENT);
  CHECK(instantiate_fails(set_unregistered).code == TN_XLA_INTERNAL);
  CHECK(instantiate_fails(set_null).code == TN_XLA_INVALID_ARGUMENT);
}

static tn_xla_type_id_t twice;

static tn_xla_error_t *register_twice(tn_xla_call_frame_t *frame) {
  if (twice.type_id != 0) return tn_xla_fail(frame, TN_XLA_ABORTED, "ran before");
  tn_xla_error_t *wrong = register_v2(frame, "state_test_twice", &twice);
  if (wrong != NULL) return wrong;
  wrong = register_v2(frame, "state_test_twice", &twice); /* the same name and id are accepted again */
  if (wrong != NULL) return wrong;
  tn_xla_type_id_t other = {twice.type_id};
  wrong = register_v2(frame, "state_test_other", &other); /* the id of another type */
  if (wrong == NULL) return tn_xla_fail(frame, TN_XLA_ABORTED, "a taken id was accepted");
  tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, wrong};
  frame->api->error_destroy(&destroy);
  tn_xla_type_id_t fresh = {0};
  return register_v2(frame, "state_test_twice", &fresh); /* the name of another type */
}

TEST(a_type_name_belongs_to_one_id) {
  const failure_t failure = instantiate_fails(register_twice);
  CHECK(failure.code == TN_XLA_INTERNAL && strstr(failure.text, "already registered") != NULL);
}
