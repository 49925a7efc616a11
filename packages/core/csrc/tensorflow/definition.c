/* Definitions of operations, kept as libraries wrote them. */
#include "internal.h"

typedef struct part {
  struct part *next;
  char kind; /* I, O or A, as in tn_tf_list() */
  char text[];
} part_t;

struct TF_OpDefinitionBuilder {
  TF_OpDefinitionBuilder *next;
  part_t *first, **last;
  int is_broken; /* out of memory */
  char name[];
};

static tn__lock_t lock = TN__LOCK;
static TF_OpDefinitionBuilder *definitions;

TF_OpDefinitionBuilder *TF_NewOpDefinitionBuilder(const char *name) {
  TF_OpDefinitionBuilder *builder = calloc(1, sizeof *builder + strlen(name) + 1);
  if (builder == NULL) return NULL;
  builder->last = &builder->first;
  strcpy(builder->name, name);
  return builder;
}

void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder *builder) {
  if (builder == NULL) return;
  for (part_t *one = builder->first, *next; one != NULL; one = next) {
    next = one->next;
    free(one);
  }
  free(builder);
}

static void add(TF_OpDefinitionBuilder *builder, char kind, const char *text) {
  part_t *part = malloc(sizeof *part + strlen(text) + 1);
  if (part == NULL) {
    builder->is_broken = 1;
    return;
  }
  *part = (part_t){NULL, kind};
  strcpy(part->text, text);
  *builder->last = part;
  builder->last = &part->next;
}

void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder *builder, const char *text) { add(builder, 'I', text); }
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder *builder, const char *text) { add(builder, 'O', text); }
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder *builder, const char *text) { add(builder, 'A', text); }

/* Facts for the optimisers of graphs. */
void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder *builder, bool value) { (void)builder, (void)value; }
void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder *builder, bool value) { (void)builder, (void)value; }
void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder *builder, bool value) { (void)builder, (void)value; }
void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder *builder, bool value) { (void)builder, (void)value; }
void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder *builder, int version, const char *explanation) {
  (void)builder, (void)version, (void)explanation;
}
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder *builder,
                                                     void (*function)(TF_ShapeInferenceContext *, TF_Status *)) {
  (void)builder, (void)function;
}

static int are_equal(const TF_OpDefinitionBuilder *a, const TF_OpDefinitionBuilder *b) {
  const part_t *x = a->first, *y = b->first;
  for (; x != NULL && y != NULL && x->kind == y->kind && strcmp(x->text, y->text) == 0; y = y->next) x = x->next;
  return x == NULL && y == NULL;
}

void TF_RegisterOpDefinition(TF_OpDefinitionBuilder *builder, TF_Status *status) {
  tn__lock(&lock);
  const TF_OpDefinitionBuilder *known = definitions;
  while (known != NULL && strcmp(known->name, builder->name) != 0) known = known->next;
  const int is_new = known == NULL && !builder->is_broken, is_equal = known != NULL && are_equal(known, builder);
  if (is_new) {
    builder->next = definitions;
    definitions = builder;
  }
  tn__unlock(&lock);
  if (is_new || is_equal) tn__tf_ok(status);
  else if (builder->is_broken) TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a definition");
  else tn__tf_set(status, TF_ALREADY_EXISTS, "another definition of the operation %s is registered", builder->name);
  if (!is_new) TF_DeleteOpDefinitionBuilder(builder);
}

void tn__tf_list_definitions(tn__tf_list_t *list) {
  tn__lock(&lock);
  const TF_OpDefinitionBuilder *definition = definitions;
  tn__unlock(&lock);
  /* Entries do not change once they are in the list. */
  for (; definition != NULL; definition = definition->next) {
    tn__tf_add(list, "D");
    tn__tf_add(list, definition->name);
    for (const part_t *part = definition->first; part != NULL; part = part->next) {
      tn__tf_add(list, (const char[]){part->kind, '\0'});
      tn__tf_add(list, part->text);
    }
  }
}
