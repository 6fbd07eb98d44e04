// Schemas are read as JSON whose numbers are not rounded.
#pragma once
#include "core/json.h"
