/* Names and patterns of parameters, on a small model. The input is a text; it is taken as a name and as a pattern. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const char robot[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='a.b'><freejoint name='*'/>"
    "<geom name='g[0]' size='.1'/><site name='s'/><body name='c' pos='0 0 1'><joint name='?' range='-1 1'/>"
    "<geom size='.1 .1' type='capsule'/></body></body></worldbody><actuator><motor name='m' joint='?'/></actuator>"
    "</mujoco>";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum
    {
        CAPACITY = 1000
    };
    static tg_model *m = NULL;
    static int index[CAPACITY];
    tg_error error = {0};
    if (m == NULL)
        fuzz_require(tg_load_string(robot, strlen(robot), NULL, NULL, &m, &error) == TG_OK, "robot", error.message);
    char *text = malloc(size + 1);
    fuzz_require(text != NULL, "the machine is out of memory", "");
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int n = tg_model_sizes(m).nparams, offset = -1, length = -1, count = -1;
    if (tg_param_find(m, text, &offset, &length, &error) == TG_OK)
        fuzz_require(offset >= 0 && length > 0 && offset + length <= n, "tg_param_find", text);
    if (tg_param_match(m, text, index, CAPACITY, &count, &error) == TG_OK)
    {
        fuzz_require(count > 0 && count <= n, "tg_param_match", text);
        for (int i = 0; i < count && i < CAPACITY; i++)
            fuzz_require(index[i] >= 0 && index[i] < n && (i == 0 || index[i] > index[i - 1]), "tg_param_match", text);
    }
    for (tg_element e = 0; e < TG_ELEMENT_COUNT; e++)
        fuzz_require(tg_find(m, e, text) >= -1, "tg_find", text);
    free(text);
    return 0;
}
