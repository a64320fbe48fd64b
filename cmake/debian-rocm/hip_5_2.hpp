// SPDX-License-Identifier: MIT
// Names that the headers of HIP 5.2 take from the compiler and that clang has dropped since version 20.
// Included before everything else by cmake/debian-rocm.cmake; no header of kvloom needs it.
#pragma once

#if defined(__HIP__) && defined(__clang__) && __clang_major__ >= 20
#ifndef __AMDGCN_WAVEFRONT_SIZE
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif

typedef _Float16 kvloom_hip_5_2_half2 __attribute__((ext_vector_type(2)));

static inline __attribute__((device)) _Float16 __llvm_amdgcn_rcp_f16(_Float16 x)
{
    return __builtin_amdgcn_rcph(x);
}

static inline __attribute__((device)) kvloom_hip_5_2_half2 __llvm_amdgcn_rcp_2f16(kvloom_hip_5_2_half2 x)
{
    _Float16 const low  = __builtin_amdgcn_rcph(x.x);
    _Float16 const high = __builtin_amdgcn_rcph(x.y);
    return kvloom_hip_5_2_half2{low, high};
}
#endif
