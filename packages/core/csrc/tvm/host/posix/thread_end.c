#include <pthread.h>

#include "../thread_end.h"

int tn__at_thread_end(tn__thread_end_t *end, void *value) {
  tn__lock(&end->lock);
  if (!end->is_made) {
    pthread_key_t key;
    end->is_made = pthread_key_create(&key, end->leave) == 0;
    end->key = key;
  }
  int is_made = end->is_made;
  tn__unlock(&end->lock);
  return is_made && pthread_setspecific((pthread_key_t)end->key, value) == 0;
}
