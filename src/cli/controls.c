/* Controls from a file of numbers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim.h"

static const char separators[] = " \t\r\n,;";

/* Numbers of a line into value (room for most); how many there are, -1 if a word is no finite number. */
static int read_line(char *line, double *value, int most)
{
    int n = 0;
    char *rest = NULL, *end;
    for (char *word = strtok_r(line, separators, &rest); word != NULL; word = strtok_r(NULL, separators, &rest))
    {
        double x = strtod(word, &end);
        if (*end != '\0' || !isfinite(x))
            return -1;
        if (n < most)
            value[n] = x;
        n++;
    }
    return n;
}

static bool is_passed_over(const char *line)
{
    size_t start = strspn(line, separators);
    return line[start] == '\0' || line[start] == '#';
}

/* Room for one more row. */
static double *next_row(tg_cli_controls *c, int *capacity)
{
    if (c->rows == *capacity)
    {
        *capacity = *capacity > 0 ? 2 * *capacity : 256;
        double *grown = tg_cli_alloc((size_t)*capacity * (size_t)c->columns, sizeof *grown);
        if (c->rows > 0)
            memcpy(grown, c->value, (size_t)c->rows * (size_t)c->columns * sizeof *grown);
        free(c->value);
        c->value = grown;
    }
    return c->value + (size_t)c->rows * (size_t)c->columns;
}

static int check_times(const char *path, const tg_cli_controls *c)
{
    for (int i = 1; c->timed && i < c->rows; i++)
        if (!(c->value[(size_t)i * (size_t)c->columns] > c->value[(size_t)(i - 1) * (size_t)c->columns]))
            return tg_cli_fail(TG_CLI_FAILED, "the first of nu + 1 numbers is the time, which must grow",
                               "%s: row %d has the time %g, the row before it %g", path, i + 1,
                               c->value[(size_t)i * (size_t)c->columns],
                               c->value[(size_t)(i - 1) * (size_t)c->columns]);
    return TG_CLI_OK;
}

static int wrong_count(const char *path, int line, int n, int nu)
{
    const char *hint = "a row has a number for each actuator, or the time and these";
    if (n < 0)
        return tg_cli_fail(TG_CLI_FAILED, hint, "%s, line %d: not a row of finite numbers", path, line);
    return tg_cli_fail(TG_CLI_FAILED, hint, "%s, line %d: %d numbers; the model has %d controls", path, line, n, nu);
}

static int read_rows(FILE *file, const char *path, int nu, tg_cli_controls *c)
{
    int capacity = 0, line = 0, code = TG_CLI_OK;
    char *text = NULL;
    size_t size = 0;
    double *row = tg_cli_alloc((size_t)nu + 1, sizeof *row);
    bool names = false;
    while (code == TG_CLI_OK && getline(&text, &size, file) >= 0)
    {
        line++;
        if (is_passed_over(text))
            continue;
        int n = read_line(text, row, nu + 1);
        if (n < 0 && c->rows == 0 && !names)
        {
            names = true;
            continue;
        }
        if (c->rows == 0 && (n == nu || n == nu + 1))
        {
            c->columns = n;
            c->timed = n == nu + 1;
        }
        if (n != c->columns)
            code = wrong_count(path, line, n, nu);
        else
        {
            memcpy(next_row(c, &capacity), row, (size_t)n * sizeof *row);
            c->rows++;
        }
    }
    free(text);
    free(row);
    return code;
}

int tg_cli_read_controls(const char *path, int nu, tg_cli_controls *controls)
{
    *controls = (tg_cli_controls){.columns = -2};
    if (nu == 0)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "--ctrl: the model has no actuators");
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "cannot read '%s': %s", path, strerror(errno));
    int code = read_rows(file, path, nu, controls);
    fclose(file);
    if (code == TG_CLI_OK && controls->rows == 0)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s: no numbers in it", path);
    return code == TG_CLI_OK ? check_times(path, controls) : code;
}

const double *tg_cli_controls_at(const tg_cli_controls *c, int step, double time)
{
    if (!c->timed)
        return c->value + (size_t)(step < c->rows ? step : c->rows - 1) * (size_t)c->columns;
    int low = 0, high = c->rows; /* rows before low have begun, those from high on have not */
    while (low < high)
    {
        int middle = low + (high - low) / 2;
        if (c->value[(size_t)middle * (size_t)c->columns] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : c->value + (size_t)(low - 1) * (size_t)c->columns + 1;
}
