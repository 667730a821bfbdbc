/* The name that a misspelt word probably stands for, for messages: "did you mean 'damping'?" */
#ifndef TG_BASE_NEAREST_H
#define TG_BASE_NEAREST_H

typedef struct tg_nearest
{
    const char *word; /* as written */
    const char *name; /* the nearest name so far; NULL: none is near */
    int distance;     /* letters that differ between them; without a name, the first distance that is too far */
} tg_nearest;

tg_nearest tg_nearest_begin(const char *word);

/* Compares with one more name. The first of several that are equally near stays. */
void tg_nearest_try(tg_nearest *nearest, const char *name);

#endif
