/* Streams, events, host functions, capture and graphs of the simulated driver. See simulated.h. */
#include "simulated.h"

#include <stdlib.h>
#include <time.h>

struct sim_stream {
  sim_object_t object;
  pthread_t thread;
  sim_work_t *first, **last;
  int running; /* whether the thread runs a piece of work */
  int ends;
  struct sim_graph *captures; /* receives enqueued work, which does not run; or null */
  int invalidated;
};

struct sim_graph {
  sim_object_t object;
  sim_work_t *first, **last;
};

struct sim_event {
  sim_object_t object;
  uint64_t recorded, reached; /* the numbers of the last record that was enqueued and that ran */
  struct timespec time;
  int has_time;
};

static struct sim_stream *default_stream;

/* --- Queues ------------------------------------------------------------------------------------------------------- */

static CUresult append(sim_work_t ***last, const sim_work_t *work) {
  sim_work_t *copy = malloc(sizeof *copy);
  if (copy == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  *copy = *work;
  copy->next = NULL;
  **last = copy;
  *last = &copy->next;
  return CUDA_SUCCESS;
}

static void free_works(sim_work_t *first) {
  while (first != NULL) {
    sim_work_t *next = first->next;
    free(first);
    first = next;
  }
}

/* Runs the work of a stream on its thread. After a sticky error the work is dropped, even host functions. */
static void *work_off(void *data) {
  CUstream stream = data;
  pthread_mutex_lock(&sim_lock);
  for (;;) {
    while ((stream->first == NULL || sim_held) && !stream->ends) pthread_cond_wait(&sim_changed, &sim_lock);
    sim_work_t *work = stream->first;
    if (work == NULL) break;
    stream->first = work->next;
    if (stream->first == NULL) stream->last = &stream->first;
    stream->running = 1;
    if (sim_sticky == CUDA_SUCCESS) {
      const CUresult result = work->run(work);
      if (result != CUDA_SUCCESS) sim_sticky = result;
    }
    free(work);
    stream->running = 0;
    pthread_cond_broadcast(&sim_changed);
  }
  pthread_mutex_unlock(&sim_lock);
  return NULL;
}

static CUstream open_stream(void) {
  CUstream stream = calloc(1, sizeof *stream);
  if (stream == NULL) return NULL;
  stream->last = &stream->first;
  if (pthread_create(&stream->thread, NULL, work_off, stream) != 0) {
    free(stream);
    return NULL;
  }
  return stream;
}

/* Returns the stream of a handle. Null is the default stream, which is created when it is first used and never
 * closed. */
static CUstream stream_of(CUstream handle) {
  if (handle != NULL) return sim_find(handle, SIM_STREAM) == NULL ? NULL : handle;
  if (default_stream == NULL) default_stream = open_stream();
  return default_stream;
}

CUresult sim_enqueue(CUstream handle, const sim_work_t *work) {
  CUstream stream = stream_of(handle);
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->captures != NULL) return append(&stream->captures->last, work);
  const CUresult result = append(&stream->last, work);
  pthread_cond_broadcast(&sim_changed);
  return result;
}

/* Returns whether the stream is captured. If so, the operation invalidates the capture. */
static int invalidate_capture(CUstream stream) {
  if (stream->captures != NULL) stream->invalidated = 1;
  return stream->captures != NULL;
}

SIM_API CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  SIM_ENTER("cuStreamCreate", 1);
  if (out == NULL || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CUstream stream = open_stream();
  if (stream == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  sim_open(&stream->object, SIM_STREAM);
  *out = stream;
  return CUDA_SUCCESS;
}

/* Waits for the work of the stream, unlike the real driver, because the stream owns its thread. */
SIM_API CUresult cuStreamDestroy_v2(CUstream stream) {
  SIM_ENTER("cuStreamDestroy", 1);
  if (sim_find(stream, SIM_STREAM) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  sim_close(&stream->object);
  stream->ends = 1;
  pthread_cond_broadcast(&sim_changed);
  pthread_mutex_unlock(&sim_lock);
  pthread_join(stream->thread, NULL);
  pthread_mutex_lock(&sim_lock);
  if (stream->captures != NULL) free_works(stream->captures->first);
  free(stream->captures);
  free(stream);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamSynchronize(CUstream handle) {
  SIM_ENTER("cuStreamSynchronize", 1);
  CUstream stream = stream_of(handle);
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  if (invalidate_capture(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  while (stream->first != NULL || stream->running) pthread_cond_wait(&sim_changed, &sim_lock);
  return sim_sticky;
}

SIM_API CUresult cuStreamQuery(CUstream handle) {
  SIM_ENTER("cuStreamQuery", 1);
  CUstream stream = stream_of(handle);
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  if (invalidate_capture(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return stream->first != NULL || stream->running ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* Host functions run without the lock, because they may do anything except call the driver. */
static CUresult run_host(sim_work_t *work) {
  pthread_mutex_unlock(&sim_lock);
  work->host(work->to);
  pthread_mutex_lock(&sim_lock);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  SIM_ENTER("cuLaunchHostFunc", 1);
  if (function == NULL) return CUDA_ERROR_INVALID_VALUE;
  return sim_enqueue(stream, &(sim_work_t){.run = run_host, .host = function, .to = data});
}

/* --- Events ------------------------------------------------------------------------------------------------------- */

SIM_API CUresult cuEventCreate(CUevent *out, unsigned flags) {
  SIM_ENTER("cuEventCreate", 1);
  if (out == NULL || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  CUevent event = calloc(1, sizeof *event);
  if (event == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  event->has_time = (flags & 2) == 0;
  sim_open(&event->object, SIM_EVENT);
  *out = event;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuEventDestroy_v2(CUevent event) {
  SIM_ENTER("cuEventDestroy", 1);
  if (sim_find(event, SIM_EVENT) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  sim_close(&event->object);
  free(event);
  return CUDA_SUCCESS;
}

static CUresult run_record(sim_work_t *work) {
  if (sim_find(work->event, SIM_EVENT) == NULL) return CUDA_SUCCESS;
  clock_gettime(CLOCK_MONOTONIC, &work->event->time);
  work->event->reached = work->number;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  SIM_ENTER("cuEventRecord", 1);
  if (sim_find(event, SIM_EVENT) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  return sim_enqueue(stream, &(sim_work_t){.run = run_record, .event = event, .number = ++event->recorded});
}

SIM_API CUresult cuEventQuery(CUevent event) {
  SIM_ENTER("cuEventQuery", 1);
  if (sim_find(event, SIM_EVENT) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  return event->reached < event->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

SIM_API CUresult cuEventSynchronize(CUevent event) {
  SIM_ENTER("cuEventSynchronize", 1);
  if (sim_find(event, SIM_EVENT) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  while (event->reached < event->recorded && sim_sticky == CUDA_SUCCESS) pthread_cond_wait(&sim_changed, &sim_lock);
  return sim_sticky;
}

SIM_API CUresult cuEventElapsedTime(float *out, CUevent start, CUevent end) {
  SIM_ENTER("cuEventElapsedTime", 1);
  if (sim_find(start, SIM_EVENT) == NULL || sim_find(end, SIM_EVENT) == NULL || !start->has_time || !end->has_time ||
      start->recorded == 0 || end->recorded == 0)
    return CUDA_ERROR_INVALID_HANDLE;
  if (start->reached < start->recorded || end->reached < end->recorded) return CUDA_ERROR_NOT_READY;
  *out = (float)((double)(end->time.tv_sec - start->time.tv_sec) * 1e3 +
                 (double)(end->time.tv_nsec - start->time.tv_nsec) / 1e6);
  return CUDA_SUCCESS;
}

/* Waits without the lock, so that other streams continue. */
static CUresult run_wait(sim_work_t *work) {
  while (sim_find(work->event, SIM_EVENT) != NULL && work->event->reached < work->number && sim_sticky == CUDA_SUCCESS)
    pthread_cond_wait(&sim_changed, &sim_lock);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  SIM_ENTER("cuStreamWaitEvent", 1);
  if (sim_find(event, SIM_EVENT) == NULL || flags > 1) return CUDA_ERROR_INVALID_HANDLE;
  return sim_enqueue(stream, &(sim_work_t){.run = run_wait, .event = event, .number = event->recorded});
}

/* --- Capture and graphs ------------------------------------------------------------------------------------------- */

static CUgraph open_graph(void) {
  CUgraph graph = calloc(1, sizeof *graph);
  if (graph != NULL) graph->last = &graph->first;
  return graph;
}

SIM_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  SIM_ENTER("cuStreamBeginCapture", 1);
  /* The default stream cannot be captured. */
  if (sim_find(stream, SIM_STREAM) == NULL) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->captures != NULL || mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
  stream->captures = open_graph();
  stream->invalidated = 0;
  return stream->captures == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

SIM_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *out) {
  SIM_ENTER("cuStreamEndCapture", 1);
  if (sim_find(stream, SIM_STREAM) == NULL || out == NULL) return CUDA_ERROR_INVALID_HANDLE;
  CUgraph graph = stream->captures;
  *out = NULL;
  if (graph == NULL) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  stream->captures = NULL;
  if (stream->invalidated) {
    free_works(graph->first);
    free(graph);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  sim_open(&graph->object, SIM_GRAPH);
  *out = graph;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
  SIM_ENTER("cuGraphInstantiate", 1);
  if (out == NULL || sim_find(graph, SIM_GRAPH) == NULL || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExec exec = open_graph();
  if (exec == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  for (const sim_work_t *work = graph->first; work != NULL; work = work->next) append(&exec->last, work);
  sim_open(&exec->object, SIM_GRAPH_EXEC);
  *out = exec;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  SIM_ENTER("cuGraphLaunch", 1);
  if (sim_find(exec, SIM_GRAPH_EXEC) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = stream_of(stream) == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  for (const sim_work_t *work = exec->first; work != NULL && result == CUDA_SUCCESS; work = work->next)
    result = sim_enqueue(stream, work);
  return result;
}

static CUresult destroy(CUgraph graph, sim_kind_t kind) {
  if (sim_find(graph, kind) == NULL) return CUDA_ERROR_INVALID_HANDLE;
  sim_close(&graph->object);
  free_works(graph->first);
  free(graph);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphDestroy(CUgraph graph) {
  SIM_ENTER("cuGraphDestroy", 1);
  return destroy(graph, SIM_GRAPH);
}

SIM_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  SIM_ENTER("cuGraphExecDestroy", 1);
  return destroy(exec, SIM_GRAPH_EXEC);
}
