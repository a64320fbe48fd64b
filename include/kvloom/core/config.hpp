// SPDX-License-Identifier: MIT
// Every macro of kvloom. The conditions are always defined, as 0 or 1.
#pragma once

// The language that this compiler speaks.
#if defined(__HIP__)
#define KVLOOM_HIP 1
#else
#define KVLOOM_HIP 0
#endif

#if !KVLOOM_HIP && defined(__CUDACC__)
#define KVLOOM_CUDA 1
#else
#define KVLOOM_CUDA 0
#endif

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define KVLOOM_RTC 1
#else
#define KVLOOM_RTC 0
#endif

// The pass: both are 0 where host code is compiled.
#if KVLOOM_CUDA && defined(__CUDA_ARCH__)
#define KVLOOM_ON_CUDA 1
#else
#define KVLOOM_ON_CUDA 0
#endif

#if KVLOOM_HIP && defined(__HIP_DEVICE_COMPILE__) && defined(__AMDGCN__)
#define KVLOOM_ON_AMD 1
#else
#define KVLOOM_ON_AMD 0
#endif

// Conversions that the machine of this pass does in hardware.
#if KVLOOM_ON_CUDA && __CUDA_ARCH__ >= 890
#define KVLOOM_NATIVE_FP8_OCP 1
#elif KVLOOM_ON_AMD && (defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__))
#define KVLOOM_NATIVE_FP8_OCP 1
#else
#define KVLOOM_NATIVE_FP8_OCP 0
#endif

#if KVLOOM_ON_AMD && (defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__))
#define KVLOOM_NATIVE_FP8_FNUZ 1
#else
#define KVLOOM_NATIVE_FP8_FNUZ 0
#endif

#if KVLOOM_NATIVE_FP8_OCP || KVLOOM_NATIVE_FP8_FNUZ
#define KVLOOM_NATIVE_FP8 1
#else
#define KVLOOM_NATIVE_FP8 0
#endif

// The instructions for powers and logarithms to base 2 as builtins of this compiler (clang 17 and later).
#define KVLOOM_NATIVE_EXP2 0
#if KVLOOM_ON_AMD
#if __has_builtin(__builtin_amdgcn_exp2f) && __has_builtin(__builtin_amdgcn_logf)
#undef KVLOOM_NATIVE_EXP2
#define KVLOOM_NATIVE_EXP2 1
#endif
#endif

// An fma of two values at once as a builtin of this compiler (clang 17 and later).
#define KVLOOM_NATIVE_PAIR_FMA 0
#if KVLOOM_ON_AMD
#if __has_builtin(__builtin_elementwise_fma)
#undef KVLOOM_NATIVE_PAIR_FMA
#define KVLOOM_NATIVE_PAIR_FMA 1
#endif
#endif

#if KVLOOM_ON_CUDA || (KVLOOM_ON_AMD && defined(__gfx950__))
#define KVLOOM_NATIVE_BF16 1
#else
#define KVLOOM_NATIVE_BF16 0
#endif

// Fast math breaks the promises on bits and NaN. CUDA device code does not depend on the flag.
#if !KVLOOM_ON_CUDA && (defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__))
#if !defined(KVLOOM_ALLOW_FAST_MATH)
#error "kvloom: fast math changes bits and loses NaN; KVLOOM_ALLOW_FAST_MATH gives these promises up"
#endif
#define KVLOOM_FAST_MATH 1
#else
#define KVLOOM_FAST_MATH 0
#endif

// KVLOOM_FN: callable from host and device, always inlined. KVLOOM_DEVICE: for device code alone.
#if KVLOOM_HIP
#define KVLOOM_FN __attribute__((host)) __attribute__((device)) __attribute__((always_inline)) inline
#define KVLOOM_DEVICE __attribute__((device)) __attribute__((always_inline)) inline
#elif KVLOOM_CUDA
#define KVLOOM_FN __host__ __device__ __forceinline__
#define KVLOOM_DEVICE __device__ __forceinline__
#else
#define KVLOOM_FN inline
#define KVLOOM_DEVICE inline
#endif

// Unrolls the loop that follows where arrays must become registers. In code for a CPU that is nothing but half of a
// compiler's time: no host pass does it.
#if KVLOOM_ON_AMD || KVLOOM_ON_CUDA
#define KVLOOM_UNROLL _Pragma("unroll")
#define KVLOOM_PRAGMA(text) _Pragma(#text)
#define KVLOOM_UNROLL_BY(turns) KVLOOM_PRAGMA(unroll turns) // 1 keeps the loop that follows a loop
#else
#define KVLOOM_UNROLL
#define KVLOOM_UNROLL_BY(turns)
#endif
