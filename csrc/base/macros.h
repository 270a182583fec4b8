#pragma once

// Everything public in librushlight is marked; all else stays inside the library.
#define RL_API __attribute__((visibility("default")))
