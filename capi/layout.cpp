// The numbers of the ABI against those of the C++ API.
#include "abi/layout.h"

#include "ingle/ingle.hpp"

using ingle::Code;
using ingle::Finish;
using ingle::LogLevel;

static_assert(INGLE_OK == static_cast<int32_t>(Code::ok));
static_assert(INGLE_E_INVALID_ARGUMENT == static_cast<int32_t>(Code::invalid_argument));
static_assert(INGLE_E_NOT_FOUND == static_cast<int32_t>(Code::not_found));
static_assert(INGLE_E_IO == static_cast<int32_t>(Code::io));
static_assert(INGLE_E_CORRUPT == static_cast<int32_t>(Code::corrupt));
static_assert(INGLE_E_UNSUPPORTED == static_cast<int32_t>(Code::unsupported));
static_assert(INGLE_E_OUT_OF_MEMORY == static_cast<int32_t>(Code::out_of_memory));
static_assert(INGLE_E_CONTEXT_FULL == static_cast<int32_t>(Code::context_full));
static_assert(INGLE_E_CANCELLED == static_cast<int32_t>(Code::cancelled));
static_assert(INGLE_E_BUSY == static_cast<int32_t>(Code::busy));
static_assert(INGLE_E_NUMERIC == static_cast<int32_t>(Code::numeric));
static_assert(INGLE_E_INTERNAL == static_cast<int32_t>(Code::internal));

static_assert(INGLE_FINISH_NONE == static_cast<int32_t>(Finish::none));
static_assert(INGLE_FINISH_END == static_cast<int32_t>(Finish::end));
static_assert(INGLE_FINISH_STOP == static_cast<int32_t>(Finish::stop));
static_assert(INGLE_FINISH_LENGTH == static_cast<int32_t>(Finish::length));
static_assert(INGLE_FINISH_CANCELLED == static_cast<int32_t>(Finish::cancelled));
static_assert(INGLE_FINISH_CONTEXT == static_cast<int32_t>(Finish::context));
static_assert(INGLE_FINISH_DEADLINE == static_cast<int32_t>(Finish::deadline));
static_assert(INGLE_FINISH_ERROR == static_cast<int32_t>(Finish::error));

static_assert(static_cast<int32_t>(ingle::EarlyStopping::never) == 2);  // the option early_stopping

static_assert(INGLE_TAP_EMBEDDING == ingle::kTapEmbedding);
static_assert(INGLE_TAP_FINAL_NORM == ingle::kTapFinalNorm);
static_assert(INGLE_TAP_LOGITS == ingle::kTapLogits);

static_assert(INGLE_LOG_DEBUG == static_cast<int32_t>(LogLevel::debug));
static_assert(INGLE_LOG_INFO == static_cast<int32_t>(LogLevel::info));
static_assert(INGLE_LOG_WARNING == static_cast<int32_t>(LogLevel::warning));
static_assert(INGLE_LOG_ERROR == static_cast<int32_t>(LogLevel::error));
