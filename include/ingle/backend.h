/* Plug-in backends: what a shared library exports so that Ingle may run matrix products, and operations on
   rows, on it. EXPERIMENTAL: table and library must have exactly the version below, which changes with every
   release that changes this header. docs/contracts/backends.md tells the whole story.

   A plug-in is loaded when it is named (the model option `backend`: "openblas" for
   libingle_backend_openblas.so in the plug-in folders, or "plugin:/path/to/library.so"), never by itself. It
   runs inside the process: it must not print, end the process or throw through these functions. */
#ifndef INGLE_BACKEND_H
#define INGLE_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INGLE_BACKEND_VERSION 1u

#if defined(_WIN32)
#define INGLE_BACKEND_EXPORT __declspec(dllexport)
#else
#define INGLE_BACKEND_EXPORT __attribute__((visibility("default")))
#endif

/* What functions return; anything else counts as INGLE_BACKEND_FAILED. */
enum {
  INGLE_BACKEND_OK = 0,
  INGLE_BACKEND_UNSUPPORTED = 1, /* this matrix, operation or machine is not for this plug-in */
  INGLE_BACKEND_OUT_OF_MEMORY = 2,
  INGLE_BACKEND_FAILED = 3
};

/* Element types of matrices; as bits of ingle_backend.matrix_types, 1u << type. */
enum { INGLE_BACKEND_F32 = 0, INGLE_BACKEND_F16 = 1, INGLE_BACKEND_BF16 = 2 };

/* Room for what went wrong: UTF-8 with a NUL at its end, cut where it does not fit. Never null. */
typedef struct ingle_backend_error {
  uint32_t struct_size;
  uint32_t reserved;
  char message[504];
} ingle_backend_error;

/* What a plug-in works for. It outlives the plug-in's instance. */
typedef struct ingle_backend_host {
  uint32_t struct_size;
  int32_t threads; /* that may call multiply and run_rows at the same time */
} ingle_backend_host;

/* A weight: `rows` rows of `cols` elements without gaps. The data is the caller's, and gone after the call.
 */
typedef struct ingle_backend_matrix {
  uint32_t struct_size;
  int32_t type;
  int64_t rows, cols;
  const void* data;
  const char* name; /* of the tensor, for messages */
} ingle_backend_matrix;

/* y[t][r] = (accumulate ? y[t][r] : 0) + sum over c of matrix[r][c] x[t][c], for t in [0, m) and r in
   [first_row, first_row + n_rows). y is indexed by the matrix's own rows: y[t * ldy + r]. Without accumulate
   what y held before must not count, be it NaN. */
typedef struct ingle_backend_product {
  uint32_t struct_size;
  int32_t accumulate;
  int64_t m;
  int64_t first_row, n_rows; /* first_row is a multiple of 16 */
  const float* x;
  int64_t ldx;
  float* y;
  int64_t ldy;
} ingle_backend_product;

/* Operations on rows. Numbers are only appended. */
enum {
  INGLE_BACKEND_OP_RMS_NORM = 1, /* y = x / sqrt(mean(x^2) + eps) * weight; weight may be null */
  INGLE_BACKEND_OP_LAYER_NORM =
      2,                         /* y = (x - mean) / sqrt(variance + eps) * weight + bias; both may be null */
  INGLE_BACKEND_OP_GLU = 3,      /* y = act(x) * x2 */
  INGLE_BACKEND_OP_ACTIVATE = 4, /* y = act(x) */
  INGLE_BACKEND_OP_ADD = 5,      /* y = x + x2 */
  INGLE_BACKEND_OP_SCALE = 6,    /* y = x * value */
  INGLE_BACKEND_OP_SOFTCAP = 7   /* y = value * tanh(x / value) */
};
enum {
  INGLE_BACKEND_ACT_SILU = 0,
  INGLE_BACKEND_ACT_GELU_TANH = 1,
  INGLE_BACKEND_ACT_GELU_ERF = 2,
  INGLE_BACKEND_ACT_RELU = 3,
  INGLE_BACKEND_ACT_RELU2 = 4, /* relu(x)^2 */
  INGLE_BACKEND_ACT_SIGMOID = 5
};
typedef struct ingle_backend_op {
  uint32_t struct_size;
  int32_t code;
  int32_t act;         /* of GLU and ACTIVATE */
  float value;         /* eps of norms, the factor, the cap */
  int64_t width;       /* values of a row; of a norm over runs, of one run */
  const float* weight; /* [width] or null; stays for the instance's life, as does bias */
  const float* bias;
} ingle_backend_op;

/* m rows; y may be x or x2. */
typedef struct ingle_backend_rows {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t m;
  const float *x, *x2; /* x2 null where the operation has one input */
  float* y;
  int64_t ldx, ldx2, ldy;
} ingle_backend_rows;

/* The table. Functions that are not marked so must be there. `self` is what create gave; create, prepare,
   release and destroy are called by one thread at a time, multiply and run_rows by several at once. */
typedef struct ingle_backend {
  uint32_t struct_size;  /* sizeof(ingle_backend) */
  uint32_t version;      /* INGLE_BACKEND_VERSION */
  const char* name;      /* a short word of a-z, 0-9, _; for messages and reports */
  const char* about;     /* one line: the library, its version and what it uses of the machine */
  uint32_t matrix_types; /* bits of the element types that prepare takes; f32 is one of them. Weights of any
                            other type come decoded to f32 */
  uint32_t reserved;

  int32_t (*create)(const ingle_backend_host* host, void** self, ingle_backend_error* error);
  void (*destroy)(void* self);

  /* Makes a weight ready. `bytes` takes the memory that is kept for it. */
  int32_t (*prepare)(void* self, const ingle_backend_matrix* matrix, void** weight, uint64_t* bytes,
                     ingle_backend_error* error);
  void (*release)(void* self, void* weight);
  int32_t (*multiply)(void* self, const void* weight, const ingle_backend_product* product,
                      ingle_backend_error* error);

  /* Both null: the plug-in runs products alone. takes_op is asked once for each operation of a model and
     returns 0 or 1. */
  int32_t (*takes_op)(void* self, const ingle_backend_op* op);
  int32_t (*run_rows)(void* self, const ingle_backend_op* op, const ingle_backend_rows* rows,
                      ingle_backend_error* error);
} ingle_backend;

/* The one symbol that a plug-in exports, "ingle_backend_entry". `version` is the host's
   INGLE_BACKEND_VERSION; the table returned lives as long as the library. Null: this version is not spoken.
 */
typedef const ingle_backend* (*ingle_backend_entry_fn)(uint32_t version);
INGLE_BACKEND_EXPORT const ingle_backend* ingle_backend_entry(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif
