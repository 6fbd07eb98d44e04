/* Plug-ins that are wrong, each in the one way that FAULT names. */
#include <stdlib.h>
#include <string.h>

#include "ingle/backend.h"

enum {
  NO_FAULT = 0,
  NO_SYMBOL = 1,
  NULL_TABLE = 2,
  OTHER_VERSION = 3,
  OTHER_SIZE = 4,
  CREATE_FAILS = 5,
  PREPARE_REFUSES = 6,
  PREPARE_LACKS_MEMORY = 7,
  PREPARE_FAILS = 8,
  MULTIPLY_FAILS = 9,
  ROWS_FAIL = 10,
  NO_MULTIPLY = 11,
  ODD_NAME = 12,
  NO_F32 = 13,
  HALF_OF_ROWS = 14,
  UNBOUNDED_MESSAGE = 15,
  COUNTS = 16 /* no fault: tells of each call */
};

static void (*on_multiply)(void);
#if FAULT == 16
INGLE_BACKEND_EXPORT void hear_multiply(void (*hear)(void)) { on_multiply = hear; }
#endif

static int32_t create(const ingle_backend_host* host, void** self, ingle_backend_error* error) {
  (void)host;
  *self = NULL;
  if (FAULT != CREATE_FAILS) return INGLE_BACKEND_OK;
  strcpy(error->message, "no such device");
  return INGLE_BACKEND_FAILED;
}
static void destroy(void* self) { (void)self; }

static int32_t prepare(void* self, const ingle_backend_matrix* matrix, void** weight, uint64_t* bytes,
                       ingle_backend_error* error) {
  const size_t size = (size_t)(matrix->rows * matrix->cols) * sizeof(float);
  (void)self;
  switch (FAULT) {
    case PREPARE_REFUSES:
      strcpy(error->message, "rows of this width are not for it");
      return INGLE_BACKEND_UNSUPPORTED;
    case PREPARE_LACKS_MEMORY:
      return INGLE_BACKEND_OUT_OF_MEMORY;
    case PREPARE_FAILS:
      strcpy(error->message, "the device is gone");
      return INGLE_BACKEND_FAILED;
    case UNBOUNDED_MESSAGE:
      memset(error->message, 'x', sizeof error->message);
      return -77;
    default:
      break;
  }
  float* values = malloc(size + sizeof(float)); /* the number of columns, then the values */
  if (!values) return INGLE_BACKEND_OUT_OF_MEMORY;
  values[0] = (float)matrix->cols;
  memcpy(values + 1, matrix->data, size);
  *weight = values;
  *bytes = size;
  return INGLE_BACKEND_OK;
}
static void release(void* self, void* weight) {
  (void)self;
  free(weight);
}

/* Fails for a row whose first value is 1000, so that a test chooses the step. */
static int32_t multiply(void* self, const void* weight, const ingle_backend_product* p,
                        ingle_backend_error* error) {
  const float* w = weight;
  const int64_t cols = (int64_t)w[0];
  (void)self;
  if (on_multiply) on_multiply();
  for (int64_t t = 0; t < p->m; ++t) {
    const float* x = p->x + t * p->ldx;
    if (FAULT == MULTIPLY_FAILS && x[0] > 999) {
      strcpy(error->message, "the device hung");
      return INGLE_BACKEND_FAILED;
    }
    for (int64_t r = p->first_row; r < p->first_row + p->n_rows; ++r) {
      float sum = p->accumulate ? p->y[t * p->ldy + r] : 0;
      for (int64_t c = 0; c < cols; ++c) sum += w[1 + r * cols + c] * x[c];
      p->y[t * p->ldy + r] = sum;
    }
  }
  return INGLE_BACKEND_OK;
}

static int32_t takes_op(void* self, const ingle_backend_op* op) {
  (void)self;
  return op->code == INGLE_BACKEND_OP_SCALE;
}
static int32_t run_rows(void* self, const ingle_backend_op* op, const ingle_backend_rows* rows,
                        ingle_backend_error* error) {
  (void)self;
  for (int64_t t = 0; t < rows->m; ++t) {
    if (rows->x[t * rows->ldx] > 999) {
      strcpy(error->message, "rows are hung");
      return INGLE_BACKEND_FAILED;
    }
    for (int64_t i = 0; i < op->width; ++i)
      rows->y[t * rows->ldy + i] = rows->x[t * rows->ldx + i] * op->value;
  }
  return INGLE_BACKEND_OK;
}

static const ingle_backend table = {
    sizeof(ingle_backend) - (FAULT == OTHER_SIZE ? 8 : 0),
    INGLE_BACKEND_VERSION + (FAULT == OTHER_VERSION ? 6 : 0),
    FAULT == ODD_NAME ? "../odd" : "faulty",
    NULL,
    1u << (FAULT == NO_F32 ? INGLE_BACKEND_F16 : INGLE_BACKEND_F32),
    0,
    create,
    destroy,
    prepare,
    release,
    FAULT == NO_MULTIPLY ? NULL : multiply,
    FAULT == ROWS_FAIL ? takes_op : NULL,
    FAULT == ROWS_FAIL || FAULT == HALF_OF_ROWS ? run_rows : NULL,
};

#if FAULT == 1
INGLE_BACKEND_EXPORT const ingle_backend* ingle_another_entry(uint32_t version) {
#else
const ingle_backend* ingle_backend_entry(uint32_t version) {
#endif
  (void)version;
  return FAULT == NULL_TABLE ? NULL : &table;
}
