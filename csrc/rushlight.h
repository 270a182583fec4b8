// The C++ interface of librushlight.
#pragma once
#include "ops/functions.h"
#include "ops/layers.h"
