/* environment.c: threads of JavaScript, the messages that others post to them, and what is called at their end. */
#include "environment.h"

#include "check.h"

enum { POSTERS = 8, MESSAGES = 500 };

typedef struct {
  tn_message_t message; /* first */
  atomic_int runs, closings;
  int place; /* in the order of runs */
} note_t;

static atomic_int noted;

static void note(tn_message_t *message, int32_t is_closing) {
  note_t *this = (note_t *)message;
  this->place = atomic_fetch_add(&noted, 1);
  atomic_fetch_add(is_closing ? &this->closings : &this->runs, 1);
}

static note_t make_note(void) { return (note_t){.message = {.run = note}}; }

static void *read_id(void *unused) {
  (void)unused;
  return (void *)(uintptr_t)(tn_environment_id() + (tn_environment_current() != NULL));
}

TEST(each_thread_has_one_environment_with_an_id_of_its_own) {
  test_thread_t thread;
  CHECK(tn_environment_current() == NULL && tn_environment_id() == 0);
  environment_t *environment = environment_open();
  const uint64_t first = environment->id;
  CHECK(first > 0 && tn_environment_current() != NULL);
  CHECK(tn_environment_open(environment->frame, &(tn_driver_t){NULL, NULL, NULL}) == TN_CLOSED);
  CHECK(tn_environment_id() == first);
  CHECK(thread_start(&thread, read_id, NULL));
  void *elsewhere = thread_join(&thread);
  CHECK(elsewhere == NULL);
  environment_close(environment);
  CHECK(tn_environment_current() == NULL && tn_environment_id() == 0);
  environment = environment_open();
  CHECK(environment->id > first);
  environment_close(environment);
}

static int hooks_called[3], hook_count;

static void end_hook(void *data) { hooks_called[hook_count++] = *(int *)data; }

TEST(environments_refuse_nulls) {
  note_t message = make_note();
  CHECK(tn_environment_open(NULL, &(tn_driver_t){NULL, NULL, NULL}) == TN_INVALID_ARGUMENT);
  environment_t *environment = environment_open();
  CHECK(tn_environment_open(environment->frame, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_environment_post(environment->id, NULL) == TN_INVALID_ARGUMENT);
  CHECK(tn_environment_post(environment->id, &(tn_message_t){NULL, NULL}) == TN_INVALID_ARGUMENT);
  CHECK(tn_environment_on_end(NULL, NULL) == TN_INVALID_ARGUMENT);
  environment_close(environment);
  CHECK(tn_environment_on_end(end_hook, NULL) == TN_CLOSED);
  CHECK(tn_environment_post(0, &message.message) == TN_CLOSED);
  /* They are no-ops on a thread without an environment. */
  tn_environment_serve();
  tn_environment_shut();
  tn_environment_close();
  tn_environment_will_serve(1);
}

TEST(messages_run_in_order_and_wake_the_event_loop_once) {
  environment_t *environment = environment_open();
  note_t notes[3] = {make_note(), make_note(), make_note()};
  atomic_store(&noted, 0);
  for (int i = 0; i < 3; i++) CHECK(tn_environment_post(environment->id, &notes[i].message) == TN_OK);
  CHECK(atomic_load(&environment->wakes) == 1 && atomic_load(&noted) == 0);
  tn_environment_serve();
  for (int i = 0; i < 3; i++) CHECK(notes[i].runs == 1 && notes[i].closings == 0 && notes[i].place == i);
  CHECK(tn_environment_post(environment->id, &notes[0].message) == TN_OK);
  CHECK(atomic_load(&environment->wakes) == 2);
  tn_environment_serve();
  CHECK(notes[0].runs == 2);
  environment_close(environment);
}

TEST(messages_posted_after_the_end_are_not_taken) {
  environment_t *environment = environment_open();
  const uint64_t id = environment->id;
  note_t waiting = make_note(), late = make_note();
  CHECK(tn_environment_post(id, &waiting.message) == TN_OK);
  tn_environment_shut();
  CHECK(waiting.runs == 0 && waiting.closings == 1);
  CHECK(tn_environment_post(id, &late.message) == TN_CLOSED);
  tn_environment_shut();
  environment_close(environment);
  CHECK(tn_environment_post(id, &late.message) == TN_CLOSED);
  CHECK(waiting.closings == 1 && late.runs == 0 && late.closings == 0);
}

static note_t follower;

static void post_follower(tn_message_t *message, int32_t is_closing) {
  note(message, is_closing);
  tn_environment_post(tn_environment_id(), &follower.message);
}

TEST(messages_that_are_posted_by_messages_run_too) {
  environment_t *environment = environment_open();
  note_t first = {.message = {.run = post_follower}};
  follower = make_note();
  CHECK(tn_environment_post(environment->id, &first.message) == TN_OK);
  tn_environment_serve();
  CHECK(first.runs == 1 && follower.runs == 1);
  environment_close(environment);
}

static void shut_in_message(tn_message_t *message, int32_t is_closing) {
  note(message, is_closing);
  tn_environment_shut();
}

TEST(a_message_may_shut_its_environment) {
  environment_t *environment = environment_open();
  note_t first = {.message = {.run = shut_in_message}}, second = make_note();
  CHECK(tn_environment_post(environment->id, &first.message) == TN_OK);
  CHECK(tn_environment_post(environment->id, &second.message) == TN_OK);
  tn_environment_serve();
  CHECK(first.runs == 1 && second.runs == 0 && second.closings == 1);
  environment_close(environment);
}

static uint64_t posted_to;

typedef struct {
  note_t notes[MESSAGES];
  int taken;
} poster_t;

static void *post_all(void *data) {
  poster_t *poster = data;
  for (int i = 0; i < MESSAGES; i++)
    poster->taken += tn_environment_post(posted_to, &poster->notes[i].message) == TN_OK;
  return NULL;
}

/* Each message that is taken runs once, on the thread or at its end. */
TEST(posts_race_with_the_end) {
  environment_t *environment = environment_open();
  test_thread_t threads[POSTERS];
  poster_t *posters = calloc(POSTERS, sizeof *posters);
  CHECK(posters != NULL);
  posted_to = environment->id;
  atomic_store(&noted, 0);
  for (int i = 0; i < POSTERS; i++) {
    for (int j = 0; j < MESSAGES; j++) posters[i].notes[j] = make_note();
    CHECK(thread_start(&threads[i], post_all, &posters[i]));
  }
  while (atomic_load(&noted) < MESSAGES) tn_environment_serve();
  environment_close(environment);
  int taken = 0, runs = 0;
  for (int i = 0; i < POSTERS; i++) thread_join(&threads[i]);
  for (int i = 0; i < POSTERS; i++) {
    taken += posters[i].taken;
    for (int j = 0; j < MESSAGES; j++) runs += posters[i].notes[j].runs + posters[i].notes[j].closings;
  }
  free(posters);
  CHECK(taken == runs && runs == atomic_load(&noted));
}

TEST(the_hook_that_was_added_last_is_called_first) {
  environment_t *environment = environment_open();
  int numbers[3] = {0, 1, 2};
  hook_count = 0;
  for (int i = 0; i < 3; i++) CHECK(tn_environment_on_end(end_hook, &numbers[i]) == TN_OK);
  tn_environment_shut();
  CHECK(hook_count == 0);
  environment_close(environment);
  CHECK(hook_count == 3 && hooks_called[0] == 2 && hooks_called[1] == 1 && hooks_called[2] == 0);
}
