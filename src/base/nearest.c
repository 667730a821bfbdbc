#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

enum
{
    LONGEST = 32, /* longer words are no misspelt names */
    TOO_FAR = 3   /* three letters turn a short name into any other */
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance: how many letters must be put in, taken out or changed. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST + 1];
    int nb = (int)strlen(b);
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++)
    {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++)
        {
            int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(changed, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[nb];
}

tg_nearest tg_nearest_begin(const char *word)
{
    return (tg_nearest){word, NULL, TOO_FAR};
}

void tg_nearest_try(tg_nearest *nearest, const char *name)
{
    size_t length = strlen(name);
    if (length > LONGEST || strlen(nearest->word) > LONGEST)
        return;
    int d = distance(nearest->word, name);
    if (d >= nearest->distance || d >= (int)length)
        return;
    nearest->name = name;
    nearest->distance = d;
}
