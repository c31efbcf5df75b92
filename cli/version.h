#pragma once
/* The version that every document and bug report carries. */
#define RH_VERSION "0.1.0"
