/* Chooses the code path of a library that was built for several processors (cmake/TangerePaths.cmake).
 *
 * Every public function is a jump through a slot of tg_paths_slots. The slots start with the path that every x86-64
 * can run. Before main, or when the library is loaded, they are set to the AVX2 path if the processor and the system
 * have what it needs. The environment variable TANGERE_CPU=baseline keeps the first path; avx2 asks for the second,
 * which is refused where the processor lacks it. Any other value has no effect. */
#include <stdlib.h>
#include <string.h>

extern void *tg_paths_slots[] __attribute__((visibility("hidden")));
extern void *const tg_paths_avx2[] __attribute__((visibility("hidden")));
extern const unsigned long tg_paths_count __attribute__((visibility("hidden")));

/* the instructions that the path is compiled with: TANGERE_AVX2_FLAGS */
static int has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

/* The jumps refer to it, so that a program that links the static library has it. */
__attribute__((constructor, visibility("hidden"))) void tg_paths_choose(void);

void tg_paths_choose(void)
{
    const char *asked = getenv("TANGERE_CPU");
    if ((asked == NULL || strcmp(asked, "baseline") != 0) && has_avx2())
        memcpy(tg_paths_slots, tg_paths_avx2, tg_paths_count * sizeof *tg_paths_slots);
}
