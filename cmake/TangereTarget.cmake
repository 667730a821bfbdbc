# tangere_target(<target>): the language, the flags and the private include path that all our C code is compiled with.

set(tangere_flags
    # Contraction to FMA stays on; the C library's errno and floating-point traps are not used. Never -ffast-math: results
    # must not depend on how a compiler reorders a sum.
    -ffp-contract=fast
    -fno-math-errno
    -fno-trapping-math
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wvla
    # src/base/simd.h passes 32-byte vectors between our own functions only: without AVX there is no ABI to keep.
    -Wno-psabi)
if(TANGERE_WERROR)
    list(APPEND tangere_flags -Werror)
endif()
if(TANGERE_NATIVE)
    list(APPEND tangere_flags -march=native)
    # AVX2 is enough for loops of 3 to 60 numbers. Without more, all such machines give the same digits and the same
    # warnings (of masked loops the optimiser believes that they read what is not set), and valgrind knows what it counts.
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND tangere_flags -mno-avx512f)
    endif()
endif()
if(TANGERE_SANITIZE)
    list(APPEND tangere_flags "-fsanitize=${TANGERE_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()
if(TANGERE_FUZZ)
    list(APPEND tangere_flags -fsanitize=fuzzer-no-link)
endif()

function(tangere_target target)
    set_target_properties(
        ${target} PROPERTIES
        C_STANDARD 17
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE ${tangere_flags})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    get_target_property(type ${target} TYPE)
    if(TANGERE_SANITIZE AND type MATCHES "EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY")
        target_link_options(${target} PRIVATE "-fsanitize=${TANGERE_SANITIZE}")
    endif()
endfunction()
