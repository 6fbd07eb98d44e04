/* A backend plug-in in plain C, as small as one can be that does all there is: products of f32 and bf16
   weights, and two of the operations on rows. Build it against an installed Ingle (CMakeLists.txt beside this
   file), then: ingle run model.gguf "Hello" --backend plugin:./libingle_backend_sample.so */
#include <ingle/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The weight, kept as f32. A real plug-in packs it here into what its library likes best. */
struct weight {
  int64_t cols;
  float* values;
};

static int32_t create(const ingle_backend_host* host, void** self, ingle_backend_error* error) {
  (void)host;
  (void)error;
  *self = NULL; /* this one needs no state of its own */
  return INGLE_BACKEND_OK;
}

static void destroy(void* self) { (void)self; }

static int32_t prepare(void* self, const ingle_backend_matrix* matrix, void** weight, uint64_t* bytes,
                       ingle_backend_error* error) {
  const size_t n = (size_t)(matrix->rows * matrix->cols);
  struct weight* w = malloc(sizeof *w);
  float* values = n > SIZE_MAX / sizeof *values ? NULL : malloc(n * sizeof *values);
  (void)self;
  if (!w || !values) {
    free(w);
    free(values);
    strcpy(error->message, "out of memory");
    return INGLE_BACKEND_OUT_OF_MEMORY;
  }
  if (matrix->type == INGLE_BACKEND_BF16) { /* the upper half of an f32 */
    const uint16_t* from = matrix->data;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t bits = (uint32_t)from[i] << 16;
      memcpy(values + i, &bits, sizeof bits);
    }
  } else {
    memcpy(values, matrix->data, n * sizeof *values);
  }
  w->cols = matrix->cols;
  w->values = values;
  *weight = w;
  *bytes = n * sizeof *values;
  return INGLE_BACKEND_OK;
}

static void release(void* self, void* weight) {
  struct weight* w = weight;
  (void)self;
  free(w->values);
  free(w);
}

/* Called by several threads at once, each for rows of its own. */
static int32_t multiply(void* self, const void* weight, const ingle_backend_product* p,
                        ingle_backend_error* error) {
  const struct weight* w = weight;
  (void)self;
  (void)error;
  for (int64_t t = 0; t < p->m; ++t) {
    for (int64_t r = p->first_row; r < p->first_row + p->n_rows; ++r) {
      const float *x = p->x + t * p->ldx, *row = w->values + r * w->cols;
      float* y = p->y + t * p->ldy + r;
      double sum = 0;
      for (int64_t c = 0; c < w->cols; ++c) sum += (double)row[c] * x[c];
      *y = (float)(p->accumulate ? *y + sum : sum);
    }
  }
  return INGLE_BACKEND_OK;
}

static int32_t takes_op(void* self, const ingle_backend_op* op) {
  (void)self;
  return op->code == INGLE_BACKEND_OP_RMS_NORM || op->code == INGLE_BACKEND_OP_ADD;
}

static int32_t run_rows(void* self, const ingle_backend_op* op, const ingle_backend_rows* rows,
                        ingle_backend_error* error) {
  (void)self;
  (void)error;
  for (int64_t t = 0; t < rows->m; ++t) {
    const float* x = rows->x + t * rows->ldx;
    float* y = rows->y + t * rows->ldy;
    if (op->code == INGLE_BACKEND_OP_ADD) {
      const float* x2 = rows->x2 + t * rows->ldx2;
      for (int64_t i = 0; i < op->width; ++i) y[i] = x[i] + x2[i];
    } else {
      double square = 0, scale;
      for (int64_t i = 0; i < op->width; ++i) square += (double)x[i] * x[i];
      scale = 1 / sqrt(square / (double)op->width + op->value);
      for (int64_t i = 0; i < op->width; ++i) y[i] = (float)(x[i] * scale) * (op->weight ? op->weight[i] : 1);
    }
  }
  return INGLE_BACKEND_OK;
}

static const ingle_backend table = {
    sizeof(ingle_backend),
    INGLE_BACKEND_VERSION,
    "sample",
    "plain C, one loop per operation",
    1u << INGLE_BACKEND_F32 | 1u << INGLE_BACKEND_BF16,
    0,
    create,
    destroy,
    prepare,
    release,
    multiply,
    takes_op,
    run_rows,
};

INGLE_BACKEND_EXPORT const ingle_backend* ingle_backend_entry(uint32_t version) {
  return version == INGLE_BACKEND_VERSION ? &table : NULL;
}
